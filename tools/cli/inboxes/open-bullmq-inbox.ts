import { bullmqInbox } from '../../../adapters/queues/bullmq/bullmq-inbox.ts'
import type { BullmqInboxOptions } from '../../../adapters/queues/bullmq/options.ts'
import { type EngineInbox, toUnreachable } from './engine-inbox.ts'

const ignore = () => {}
/** Settings of its Redis are a matter of the app. */
const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore }

/**
 * Opens the inbox of another process, and creates nothing.
 *
 * @throws ConfigurationError `database_unusable` if the engine cannot be reached, or `driver_missing`
 */
export async function openBullmqInbox(options: BullmqInboxOptions): Promise<EngineInbox> {
  const inbox = bullmqInbox(options)
  inbox.reportTo?.(SILENT)
  try {
    await inbox.get('')
    return { inbox, close: inbox.close, missing: await inbox.findMissing() }
  } catch (cause) {
    await inbox.close()
    const isOther = /\bRESP\b|\breply type\b/i.test(String(Object(cause).message))
    throw toUnreachable(isOther ? new Error('what listens there is no Redis.', { cause }) : cause)
  }
}
