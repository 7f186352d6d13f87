import pg from 'pg'
import { type PostgresStore, postgresStore } from 'postern/postgres'
import { afterAll, beforeAll, describe } from 'vitest'
import { pgBouncerProgram, startPgBouncer } from '../../engines/pgbouncer.ts'
import { type PostgresServer, postgresProgram, startPostgres } from '../../engines/postgres-server.ts'
import { itKeepsTheContract } from '../../store/check-store.ts'

const isHere = postgresProgram !== undefined && pgBouncerProgram !== undefined

describe.skipIf(!isHere)('postgresStore, behind PgBouncer in transaction mode', () => {
  let server: PostgresServer
  let bouncer: Awaited<ReturnType<typeof startPgBouncer>>
  const pools: pg.Pool[] = []
  let rows: pg.Pool

  beforeAll(async () => {
    server = await startPostgres()
    bouncer = await startPgBouncer(server.port)
    rows = open()
    await rows.query('CREATE TABLE suite_rows (name text PRIMARY KEY)')
  }, 60_000)
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()))
    await bouncer.remove()
    await server.remove()
  }, 60_000)

  function open(): pg.Pool {
    const pool = new pg.Pool({ connectionString: bouncer.url, max: 5 })
    pools.push(pool)
    return pool
  }
  const makeStore = async (options: { readonly retentionMs?: number }): Promise<PostgresStore<pg.PoolClient>> => {
    const store = postgresStore({ pool: open(), ...options })
    await store.migrate()
    return store
  }

  itKeepsTheContract(makeStore, {
    transaction: {
      write: (tx: pg.PoolClient, row) => tx.query('INSERT INTO suite_rows VALUES ($1)', [row]),
      has: async (row) => (await rows.query('SELECT 1 FROM suite_rows WHERE name = $1', [row])).rowCount === 1,
    },
  })
})
