import { type HandlerContext, memoryStore, type Store } from 'postern'
import type { EngineAddress } from './messages.ts'

/** An engine's store in a worker. */
export interface OpenStore {
  readonly store: Store
  /** With a store that has transactions: writes a row of the user's own, together with the finish mark of the handler. */
  readonly writeEffect?: (eventId: string, context: HandlerContext) => Promise<void>
  close(): Promise<void>
}

export async function openStore({ name }: EngineAddress): Promise<OpenStore> {
  switch (name) {
    case 'memory':
      return { store: memoryStore(), close: async () => {} }
    default:
      throw new Error(`no engine ${name}`)
  }
}
