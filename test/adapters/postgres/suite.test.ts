import pg from 'pg'
import { type PostgresStore, postgresStore } from 'postern/postgres'
import { afterAll, beforeAll, describe } from 'vitest'
import { type PostgresServer, postgresProgram, startPostgres } from '../../engines/postgres-server.ts'
import { itKeepsTheContract } from '../../store/check-store.ts'

describe.skipIf(postgresProgram === undefined)('postgresStore, on a real server', () => {
  let server: PostgresServer
  const pools: pg.Pool[] = []
  let rows: pg.Pool

  beforeAll(async () => {
    server = await startPostgres()
    rows = new pg.Pool({ connectionString: server.url })
    rows.on('error', () => {}) // the server is taken away
    pools.push(rows)
    await rows.query('CREATE TABLE suite_rows (name text PRIMARY KEY)')
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
    transaction: {
      write: (tx: pg.PoolClient, row) => tx.query('INSERT INTO suite_rows VALUES ($1)', [row]),
      has: async (row) => (await rows.query('SELECT 1 FROM suite_rows WHERE name = $1', [row])).rowCount === 1,
    },
    outage: { begin: () => server.kill('SIGINT'), end: () => server.start() },
  })
})
