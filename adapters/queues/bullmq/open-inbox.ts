import { PostgresConnection, type PostgresPoolConfig } from 'bullmq'
import { ConfigurationError } from '../../../src/index.ts'
import { type BullmqInbox, bullmqInbox } from './bullmq-inbox.ts'
import type { BullmqInboxOptions } from './options.ts'

/**
 * Opens the inbox of another process, and creates nothing.
 *
 * @throws ConfigurationError `database_unusable` if the engine cannot be reached, or has no tables of BullMQ; `driver_missing`
 */
export async function openBullmqInbox(options: BullmqInboxOptions): Promise<BullmqInbox> {
  const inbox = bullmqInbox(options)
  try {
    await inbox.get('')
    return inbox
  } catch (cause) {
    await inbox.close()
    throw cause instanceof ConfigurationError ? cause : unreachable(cause)
  }
}

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

/** If several addresses were tried, the message has the first one's reason. */
function unreachable(cause: unknown): ConfigurationError {
  const first = cause instanceof AggregateError ? cause.errors[0] : cause
  const why = first instanceof Error ? first.message : String(first)
  return new ConfigurationError('database_unusable', `The inbox cannot be reached: ${why}`, { cause })
}
