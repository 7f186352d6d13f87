import type { EngineAddress, EngineName } from './messages.ts'

/** An engine that a chaos run has started for itself. */
export interface RunningEngine {
  readonly address: EngineAddress
  /** Ways to disturb it, each of which ends once it serves again. */
  readonly faults: readonly (() => Promise<void>)[]
  /** With transactions: the event ids in the user's own table, one for each row. */
  readonly readEffects?: () => Promise<readonly string[]>
  close(): Promise<void>
}

export async function startEngine(name: EngineName): Promise<RunningEngine> {
  switch (name) {
    case 'memory':
      return { address: { name, at: '' }, faults: [], close: async () => {} }
    default:
      throw new Error(`no engine ${name}`)
  }
}
