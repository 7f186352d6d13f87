import { PostgresConnection, type PostgresPoolConfig } from 'bullmq'
import { unreachable } from './open-inbox.ts'

/**
 * Creates or updates the tables of BullMQ's Postgres backend. It can be run again, and by several processes at the same time. `postern
 * inbox migrate --postgres URL` does the same.
 *
 * @throws ConfigurationError `database_unusable`
 */
export async function migrateBullmq(connection: string | PostgresPoolConfig): Promise<void> {
  const config = typeof connection === 'string' ? { connectionString: connection } : connection
  const opened = new PostgresConnection({ ...config, migrate: true })
  opened.on('error', () => {}) // every failure rejects
  try {
    await opened.waitUntilReady()
  } catch (cause) {
    throw unreachable(cause)
  } finally {
    await opened.close()
  }
}
