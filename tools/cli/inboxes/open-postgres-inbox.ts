import { type PostgresInbox, postgresInbox } from '../../../adapters/stores/postgres/inbox/postgres-inbox.ts'
import type { TableName } from '../../../adapters/stores/postgres/statements.ts'
import { ConfigurationError } from '../../../src/protocol/errors.ts'
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
    await pool.end()
    throw toUnreachable(cause)
  }
}
