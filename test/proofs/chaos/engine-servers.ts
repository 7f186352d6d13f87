import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { bullmqInbox } from 'postern/bullmq'
import { postgresInbox, postgresStore } from 'postern/postgres'
import { FaultyProxy } from '../../engines/faulty-proxy.ts'
import { startPostgres } from '../../engines/postgres-server.ts'
import { startRedis } from '../../engines/redis-server.ts'
import type { EngineName } from './messages.ts'
import type { RunningEngine } from './running-engine.ts'
import { EFFECTS, startSqlite } from './sqlite-engine.ts'

export async function startEngine(name: EngineName): Promise<RunningEngine> {
  if (name === 'memory') return { address: { name, at: '' }, faults: [], close: async () => {} }
  if (name.includes('redis')) return startRedisServer(name)
  return name.includes('postgres') ? startPostgresWithTables(name) : startSqlite(name)
}

/** The inbox is read directly and not through the proxy. */
async function startRedisServer(name: EngineName): Promise<RunningEngine> {
  const server = await startRedis()
  const { proxy, at } = await startProxy(server)
  const inbox = name.startsWith('inbox-') ? bullmqInbox({ connection: server.url }) : undefined
  return {
    address: { name, at },
    faults: toFaults(server, proxy, 'SIGTERM'),
    ...(inbox && { inbox }),
    async close() {
      await inbox?.close()
      proxy.close()
      await server.remove()
    },
  }
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
