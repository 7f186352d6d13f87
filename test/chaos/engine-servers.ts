import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlite } from 'postern/sqlite'
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
    case 'sqlite':
    case 'sqlite-transaction':
      return startSqlite(name)
    default:
      throw new Error(`no engine ${name}`)
  }
}

/** There is no server to disturb: the workers are all there is. */
function startSqlite(name: 'sqlite' | 'sqlite-transaction'): RunningEngine {
  const folder = mkdtempSync(join(tmpdir(), 'postern-chaos-'))
  const at = join(folder, 'events.db')
  const database = openSqlite(at)
  database.exec('CREATE TABLE effects (event_id TEXT NOT NULL)')
  const readEffects = async () =>
    database
      .prepare('SELECT event_id FROM effects')
      .all()
      .map(({ event_id: eventId }) => String(eventId))
  return {
    address: { name, at },
    faults: [],
    ...(name === 'sqlite-transaction' && { readEffects }),
    async close() {
      database.close()
      rmSync(folder, { recursive: true })
    },
  }
}
