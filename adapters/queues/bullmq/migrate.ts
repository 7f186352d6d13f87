import { PostgresConnection, type PostgresPoolConfig } from 'bullmq'

/**
 * Makes or updates the tables of BullMQ's Postgres backend. It can be run again, by any number of processes at once.
 * `postern inbox migrate --postgres URL` does the same.
 */
export async function migrateBullmq(connection: string | PostgresPoolConfig): Promise<void> {
  const config = typeof connection === 'string' ? { connectionString: connection } : connection
  const opened = new PostgresConnection({ ...config, migrate: true })
  opened.on('error', () => {}) // whatever fails rejects
  try {
    await opened.waitUntilReady()
  } finally {
    await opened.close()
  }
}
