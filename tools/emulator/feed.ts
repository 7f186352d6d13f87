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

export class Feed {
  readonly #listeners = new Set<FeedListener>()
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
  }

  subscribe(listener: FeedListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  publish(message: FeedMessage): void {
    for (const listener of this.#listeners) {
      try {
        listener(message)
      } catch (err) {
        this.#logger.error({ err }, 'a listener of the emulator threw')
      }
    }
  }

  warn(message: string): void {
    this.#logger.warn({}, message)
    this.publish({ type: 'warning', message })
  }
}
