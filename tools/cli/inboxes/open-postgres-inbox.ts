import type { Pool } from 'pg'
import { type PostgresInbox, postgresInbox } from '../../../adapters/stores/postgres/inbox/postgres-inbox.ts'
import { DEFAULT_TABLE } from '../../../adapters/stores/postgres/inbox/tables.ts'
import type { TableName } from '../../../adapters/stores/postgres/statements.ts'
import { ConfigurationError, PosternError } from '../../../src/protocol/errors.ts'
import { type EngineInbox, toUnreachable } from './engine-inbox.ts'

/**
 * Opens the inbox of another process, and creates nothing but what `prepare` does.
 *
 * @param prepare called before its first use
 * @throws ConfigurationError `database_unusable` if the server cannot be reached, or has no such table; `driver_missing`
 */
export async function openPostgresInbox(
  connectionString: string,
  name: TableName,
  prepare?: (inbox: PostgresInbox) => Promise<void>,
): Promise<EngineInbox> {
  const { default: pg } = await import('pg').catch((cause: unknown) => {
    throw new ConfigurationError('driver_missing', 'An inbox on Postgres needs pg: npm install pg', { cause })
  })
  const pool = new pg.Pool({ connectionString, max: 3, connectionTimeoutMillis: 5_000 })
  const inbox = postgresInbox({ pool, ...name })
  try {
    await prepare?.(inbox)
    await inbox.get('')
    return { inbox, close: () => pool.end() }
  } catch (cause) {
    // Without a server, there is nothing to find.
    const others = cause instanceof PosternError ? await describeOthers(pool, name).catch(() => undefined) : undefined
    await pool.end()
    throw toUnreachable(others ?? cause)
  }
}

/** The tables of inboxes, and if a name without a schema finds them. */
const FIND = `SELECT relnamespace::regnamespace::text AS schema, relname AS table, pg_table_is_visible(oid) AS visible
  FROM pg_class WHERE relkind = 'r' AND obj_description(oid, 'pg_class') LIKE 'postern inbox %' ORDER BY 1, 2 LIMIT 10`

/** Returns an error that names the inboxes of a database; undefined if it has the one that was asked for, or none. */
async function describeOthers(pool: Pool, { schema, table = DEFAULT_TABLE }: TableName) {
  const { rows } = await pool.query(FIND)
  const isMeant = (row: (typeof rows)[number]) =>
    row.table === table && (schema === undefined ? row.visible : row.schema === schema)
  if (rows.length === 0 || rows.some(isMeant)) return undefined
  const where = schema === undefined ? '' : ` in the schema ${JSON.stringify(schema)}`
  const names = rows.map((row) => `--schema ${row.schema} --table ${row.table}`).join(', ')
  const message = `This database has no inbox with the table ${JSON.stringify(table)}${where}. It has: ${names}.`
  return new ConfigurationError('database_unusable', message)
}
