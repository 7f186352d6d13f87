import { type BullmqInbox, bullmqInbox } from '../../../adapters/queues/bullmq/bullmq-inbox.ts'
import type { BullmqInboxOptions } from '../../../adapters/queues/bullmq/options.ts'
import { toUnreachable } from './unreachable.ts'

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
    throw toUnreachable(cause)
  }
}
