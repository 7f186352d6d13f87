import { ConfigurationError } from '../../../src/index.ts'
import { type BullmqInbox, bullmqInbox } from './bullmq-inbox.ts'
import type { BullmqInboxOptions } from './options.ts'

/**
 * Opens the inbox of another process, and creates nothing.
 *
 * @throws ConfigurationError `database_unusable` if the engine cannot be reached, or `driver_missing`
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

/** If several addresses were tried, the message has the first one's reason. */
function unreachable(cause: unknown): ConfigurationError {
  const first = cause instanceof AggregateError ? cause.errors[0] : cause
  const why = first instanceof Error ? first.message : String(first)
  return new ConfigurationError('database_unusable', `The inbox cannot be reached: ${why}`, { cause })
}
