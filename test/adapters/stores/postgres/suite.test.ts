import pg from 'pg'
import { type PostgresStore, postgresStore } from 'postern/postgres'
import { afterAll, beforeAll, describe } from 'vitest'
import { pgBouncerProgram, startPgBouncer } from '../../../engines/pgbouncer.ts'
import { type PostgresServer, postgresProgram, startPostgres } from '../../../engines/postgres-server.ts'
import { itKeepsTheContract } from '../../../store/check-store.ts'
import { DRIVERS } from './scene.ts'

const SCENES = [
  ...DRIVERS.map(([version, driver]) => ({ name: `pg ${version}`, driver, isPooled: false })),
  ...(pgBouncerProgram === undefined
    ? []
    : [{ name: 'PgBouncer in transaction mode before it', driver: pg, isPooled: true }]),
]

describe.skipIf(postgresProgram === undefined).concurrent.each(SCENES)(
  'postgresStore, on a real server, with $name',
  ({ driver, isPooled }) => {
    let server: PostgresServer
    let bouncer: Awaited<ReturnType<typeof startPgBouncer>> | undefined
    const pools: pg.Pool[] = []
    let rows: pg.Pool

    beforeAll(async () => {
      server = await startPostgres()
      if (isPooled) bouncer = await startPgBouncer(server.port)
      rows = open()
      rows.on('error', () => {}) // the server is taken away
      await rows.query('CREATE TABLE suite_rows (name text PRIMARY KEY)')
    })
    afterAll(async () => {
      await Promise.all(pools.map((pool) => pool.end()))
      await bouncer?.remove()
      await server.remove()
    })

    function open(): pg.Pool {
      const pool = new driver.Pool({ connectionString: bouncer?.url ?? server.url, max: 5 })
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
      outage: { begin: () => server.kill('SIGINT'), end: () => server.start() },
    })
  },
)
