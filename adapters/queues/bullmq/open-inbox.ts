import { toUnreachable } from '../../stores/unreachable.ts'
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
    throw toUnreachable(cause)
  }
}
