import pg from 'pg'
import { type PostgresStore, postgresStore } from 'postern/postgres'
import { afterAll, beforeAll, describe } from 'vitest'
import { type PostgresServer, postgresProgram, startPostgres } from '../../engines/postgres-server.ts'
import { itKeepsTheContract } from '../../store/check-store.ts'

describe.skipIf(postgresProgram === undefined)('postgresStore, on a real server', () => {
  let server: PostgresServer
  const pools: pg.Pool[] = []

  beforeAll(async () => {
    server = await startPostgres()
  }, 60_000)
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()))
    await server.remove()
  }, 60_000)

  const makeStore = async (options: { readonly retentionMs?: number }): Promise<PostgresStore<pg.PoolClient>> => {
    const pool = new pg.Pool({ connectionString: server.url, max: 5 })
    pools.push(pool)
    const store = postgresStore({ pool, ...options })
    await store.migrate()
    return store
  }

  itKeepsTheContract(makeStore, {
    isShared: true,
    outage: { begin: () => server.kill('SIGINT'), end: () => server.start() },
  })
})
