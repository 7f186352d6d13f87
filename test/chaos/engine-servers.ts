import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { postgresStore } from 'postern/postgres'
import { openSqlite } from 'postern/sqlite'
import { startPostgres } from '../engines/postgres-server.ts'
import { startRedis } from '../engines/redis-server.ts'
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
    case 'redis': {
      const server = await startRedis()
      return { address: { name, at: server.url }, faults: toFaults(server, 'SIGTERM'), close: () => server.remove() }
    }
    case 'postgres':
    case 'postgres-transaction':
      return startPostgresWithTables(name)
    case 'sqlite':
    case 'sqlite-transaction':
      return startSqlite(name)
  }
}

const EFFECTS = 'CREATE TABLE effects (event_id TEXT NOT NULL)'

async function startPostgresWithTables(name: 'postgres' | 'postgres-transaction'): Promise<RunningEngine> {
  const server = await startPostgres()
  const pool = new pg.Pool({ connectionString: server.url, max: 3 })
  pool.on('error', () => {}) // the faults cut its connections
  await postgresStore({ pool }).migrate()
  await pool.query(EFFECTS)
  const readEffects = async () => {
    const { rows } = await pool.query<{ event_id: string }>('SELECT event_id FROM effects')
    return rows.map(({ event_id: eventId }) => eventId)
  }
  return {
    address: { name, at: server.url },
    faults: toFaults(server, 'SIGINT'),
    ...(name === 'postgres-transaction' && { readEffects }),
    async close() {
      await pool.end()
      await server.remove()
    },
  }
}

/** There is no server to disturb: the workers are all there is. */
function startSqlite(name: 'sqlite' | 'sqlite-transaction'): RunningEngine {
  const folder = mkdtempSync(join(tmpdir(), 'postern-chaos-'))
  const at = join(folder, 'events.db')
  const database = openSqlite(at)
  database.exec(EFFECTS)
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

interface Server<InOrder extends string> {
  start(): Promise<void>
  kill(signal: 'SIGKILL' | InOrder): Promise<void>
  freeze(): void
  thaw(): void
}

/** Frozen for four seconds four times, killed and away for two three times, restarted at once three times. */
function toFaults<InOrder extends string>(server: Server<InOrder>, inOrder: InOrder): RunningEngine['faults'] {
  const freeze = async () => {
    server.freeze()
    await sleep(4_000)
    server.thaw()
  }
  const crash = async () => {
    await server.kill('SIGKILL')
    await sleep(2_000)
    await server.start()
  }
  const restart = async () => {
    await server.kill(inOrder)
    await server.start()
  }
  return [freeze, crash, restart, freeze, crash, restart, freeze, crash, restart, freeze]
}
