import type { Logger } from '../../src/host/logger.ts'
import type { DeliveryAttempt, EmulatorDelivery } from './delivery.ts'

/** Message about a change in the emulator. */
export type FeedMessage =
  | { readonly type: 'delivery'; readonly delivery: EmulatorDelivery }
  | { readonly type: 'attempt'; readonly delivery: EmulatorDelivery; readonly attempt: DeliveryAttempt }
  | {
      readonly type: 'webhook'
      readonly change: 'created' | 'updated' | 'deleted'
      readonly webhookId: string
      readonly accountKey: string
    }
  | {
      readonly type: 'call'
      readonly method: string
      readonly path: string
      readonly status: number
      readonly accountKey: string | undefined
      readonly rateRemaining: number | undefined
    }
  | { readonly type: 'clock'; readonly now: number }
  | { readonly type: 'reset' }
  | { readonly type: 'warning'; readonly message: string }

/** Function for `subscribe`. An error that it throws is logged. */
export type FeedListener = (message: FeedMessage) => void

export type Feed = ReturnType<typeof createFeed>

export function createFeed(logger: Logger) {
  const listeners = new Set<FeedListener>()
  const publish = (message: FeedMessage) => {
    for (const listener of listeners) {
      try {
        listener(message)
      } catch (err) {
        logger.error({ err }, 'a listener of the emulator threw')
      }
    }
  }
  return {
    publish,
    subscribe(listener: FeedListener): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    warn(message: string): void {
      logger.warn({}, message)
      publish({ type: 'warning', message })
    },
  }
}
