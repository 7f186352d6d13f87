import pg from 'pg'
import { sealedInbox } from 'postern'
import { postgresInbox } from 'postern/postgres'
import { afterEach, describe, it } from 'vitest'
import { pgBouncerProgram, startPgBouncer } from '../../../engines/pgbouncer.ts'
import { postgresProgram, startPostgres } from '../../../engines/postgres-server.ts'
import { serverFor } from '../../../engines/server-for.ts'
import { inboxSuite, SEAL_KEYS } from '../../../support/inbox-suite/inbox-suite.ts'

interface Variant {
  readonly name: string
  readonly settings?: readonly string[]
  readonly pool?: pg.PoolConfig
  readonly schema?: string
  readonly isPooled?: boolean
  readonly isSealed?: boolean
}

const POOLED: readonly Variant[] = [
  { name: 'behind PgBouncer in transaction mode', isPooled: true },
  // Without a pooler, its sessions have their own default.
  {
    name: 'behind PgBouncer, if transactions are serializable by default',
    settings: ['default_transaction_isolation=serializable'],
    isPooled: true,
  },
]
const VARIANTS: readonly Variant[] = [
  { name: 'as it comes' },
  { name: 'on a pool of one', pool: { max: 1 } },
  { name: 'in a schema of a quoted name', schema: `Ten"ant's 1` },
  { name: 'in sealedInbox', isSealed: true },
  ...(pgBouncerProgram === undefined ? [] : POOLED),
]

describe.skipIf(postgresProgram === undefined).each(VARIANTS)(
  'postgresInbox $name',
  ({ settings = [], pool: options, schema, isPooled = false, isSealed = false }) => {
    const server = serverFor(async () => {
      const postgres = await startPostgres(...settings)
      const bouncer = isPooled ? await startPgBouncer(postgres.port) : undefined
      const remove = async () => {
        await bouncer?.remove()
        await postgres.remove()
      }
      return { url: bouncer?.url ?? postgres.url, remove }
    })
    const pools: pg.Pool[] = []
    afterEach(() => Promise.all(pools.splice(0).map((pool) => pool.end())))

    // Each inbox has its own pool, as in a separate process.
    const makeInbox = async (table: string) => {
      const pool = new pg.Pool({ connectionString: server().url, ...options })
      pools.push(pool)
      if (schema !== undefined) await pool.query(`CREATE SCHEMA IF NOT EXISTS "${schema.replaceAll('"', '""')}"`)
      const inbox = postgresInbox({ pool, table, ...(schema && { schema }) })
      await inbox.migrate()
      return isSealed ? sealedInbox(inbox, { keys: SEAL_KEYS }) : inbox
    }
    for (const { name, run } of inboxSuite(makeInbox)) it(name, run)
  },
)
