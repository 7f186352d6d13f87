import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { bullmqInbox } from 'postern/bullmq'
import { postgresInbox, postgresStore } from 'postern/postgres'
import { openSqlite } from 'postern/sqlite'
import { FaultyProxy } from '../engines/faulty-proxy.ts'
import { startPostgres } from '../engines/postgres-server.ts'
import { startRedis } from '../engines/redis-server.ts'
import { startInbox } from './inbox-engine.ts'
import type { EngineName } from './messages.ts'
import { EFFECTS, type RunningEngine, readEffects } from './running-engine.ts'

export async function startEngine(name: EngineName): Promise<RunningEngine> {
  switch (name) {
    case 'memory':
      return { address: { name, at: '' }, faults: [], close: async () => {} }
    case 'redis':
      return (await startRedisServer(name)).engine
    case 'inbox-bullmq-redis': {
      const { engine, url } = await startRedisServer(name)
      return withBullmq(engine, url)
    }
    case 'postgres':
    case 'postgres-transaction':
    case 'inbox-postgres':
    case 'inbox-postgres-transaction':
      return startPostgresWithTables(name)
    case 'sqlite':
    case 'sqlite-transaction':
      return startSqlite(name)
    case 'inbox-sqlite':
    case 'inbox-sqlite-transaction':
    case 'inbox-sqlite-outage':
      return startInbox(name)
  }
}

async function startRedisServer(name: EngineName): Promise<{ readonly engine: RunningEngine; readonly url: string }> {
  const server = await startRedis()
  const { proxy, at } = await startProxy(server)
  const close = async () => {
    proxy.close()
    await server.remove()
  }
  return { engine: { address: { name, at }, faults: toFaults(server, proxy, 'SIGTERM'), close }, url: server.url }
}

/** The inbox is read directly and not through the proxy. */
function withBullmq(engine: RunningEngine, url: string): RunningEngine {
  const inbox = bullmqInbox({ connection: url })
  const close = async () => {
    await inbox.close()
    await engine.close()
  }
  return { ...engine, inbox, close }
}

/** The inbox is read directly and not through the proxy. */
async function startPostgresWithTables(name: EngineName): Promise<RunningEngine> {
  const server = await startPostgres()
  const { proxy, at } = await startProxy(server)
  const pool = new pg.Pool({ connectionString: server.url, max: 3 })
  pool.on('error', () => {}) // the faults cut its connections
  const inbox = postgresInbox({ pool })
  await Promise.all([postgresStore({ pool }).migrate(), inbox.migrate(), pool.query(EFFECTS)])
  const readEffects = async () => {
    const { rows } = await pool.query<{ event_id: string }>('SELECT event_id FROM effects')
    return rows.map(({ event_id: eventId }) => eventId)
  }
  return {
    address: { name, at },
    faults: toFaults(server, proxy, 'SIGINT'),
    ...(name.startsWith('inbox-') && { inbox }),
    ...(name.endsWith('-transaction') && { readEffects }),
    async close() {
      await pool.end()
      proxy.close()
      await server.remove()
    },
  }
}

/** There is no server to disturb, only workers. */
function startSqlite(name: 'sqlite' | 'sqlite-transaction'): RunningEngine {
  const folder = mkdtempSync(join(tmpdir(), 'postern-chaos-'))
  const at = join(folder, 'events.db')
  const database = openSqlite(at)
  database.exec(EFFECTS)
  return {
    address: { name, at },
    faults: [],
    ...(name === 'sqlite-transaction' && { readEffects: () => readEffects(database) }),
    async close() {
      const isSound = database.pragma('integrity_check')[0]?.integrity_check === 'ok'
      database.close()
      if (!isSound) throw new Error(`${at} is damaged`)
      rmSync(folder, { recursive: true })
    },
  }
}

/** The workers reach their engine through the proxy. */
async function startProxy({ port, url }: { readonly port: number; readonly url: string }) {
  const proxy = new FaultyProxy(port)
  return { proxy, at: url.replace(`:${port}`, `:${await proxy.listen()}`) }
}

interface Server<InOrder extends string> {
  start(): Promise<void>
  kill(signal: 'SIGKILL' | InOrder): Promise<void>
  freeze(): void
  thaw(): void
}

/**
 * Faults: frozen for four seconds four times, killed and away for two three times, restarted immediately three times; and three times all
 * connections fall silent for ten seconds, of which the server knows nothing.
 */
function toFaults<InOrder extends string>(
  server: Server<InOrder>,
  proxy: FaultyProxy,
  inOrder: InOrder,
): RunningEngine['faults'] {
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
  const silence = async () => {
    proxy.mute()
    await sleep(10_000)
    proxy.closeMuted()
  }
  const each = [freeze, crash, restart, silence]
  return [...each, ...each, ...each, freeze]
}
