import { bullmqInbox } from '../../../adapters/queues/bullmq/bullmq-inbox.ts'
import type { BullmqInboxOptions } from '../../../adapters/queues/bullmq/options.ts'
import { type EngineInbox, toUnreachable } from './engine-inbox.ts'

/**
 * Opens the inbox of another process, and creates nothing.
 *
 * @throws ConfigurationError `database_unusable` if the engine cannot be reached, or `driver_missing`
 */
export async function openBullmqInbox(options: BullmqInboxOptions): Promise<EngineInbox> {
  const inbox = bullmqInbox(options)
  try {
    await inbox.get('')
    return { inbox, close: inbox.close }
  } catch (cause) {
    await inbox.close()
    throw toUnreachable(cause)
  }
}
