import { MAX_ATTEMPTS, MAX_ID_LENGTH, MAX_TYPE_LENGTH } from '../../src/protocol/schedule.ts'
import { formatJson } from '../wire/json-forms.ts'
import { readEvent } from './answers.ts'
import type { Signing, StoredDelivery } from './delivery.ts'
import { type EventsParts, newDelivery } from './events.ts'
import { Refusal } from './refusal.ts'

/** Options to send a delivery again. */
export interface ResendOptions {
  /** Body to send instead of the original one: text or bytes, sent as they are. */
  readonly body?: string | Uint8Array | undefined
  /**
   * Signature: `valid` (default), or wrong in one way. `none`: no header; `wrong`: another secret; `stale-bytes`: the signature of the
   * original bytes on an edited body; the others as in `signed` of `postern/testing`.
   */
  readonly sign?: Signing | undefined
}

export class DeliveryActions {
  readonly #parts: EventsParts

  constructor(parts: EventsParts) {
    this.#parts = parts
  }

  listOf(accountKey: string, webhookId: string): readonly StoredDelivery[] {
    this.#parts.webhooks.mustHaveLog(accountKey, webhookId)
    return this.#parts.log.list(webhookId)
  }

  list(filter: { webhookId?: string | undefined; eventId?: string | undefined }): readonly StoredDelivery[] {
    const { webhookId, eventId } = filter
    const all = this.#parts.log.list(webhookId)
    return eventId === undefined ? all : all.filter((delivery) => delivery.eventId === eventId)
  }

  get(id: string): StoredDelivery {
    const delivery = this.#parts.log.find(id)
    if (delivery === undefined) throw new Refusal('unknown', 'there is no such delivery')
    return delivery
  }

  /** Retries a delivery by hand. Service text, section 3.2; A13, A14 and A15. */
  retry(accountKey: string, webhookId: string, id: string): StoredDelivery {
    const { webhooks, assumed, clock, log, feed, engine } = this.#parts
    webhooks.get(accountKey, webhookId)
    const delivery = log.find(id)
    if (delivery === undefined || delivery.webhookId !== webhookId)
      throw new Refusal('unknown', 'there is no such delivery')
    const mayRetry = delivery.status === 'failed' || (assumed.retryOfUnfailed === 'accepted' && !delivery.isInFlight)
    if (!mayRetry) throw new Refusal('not-failed', `the delivery has not failed: it is ${delivery.status}`)
    if (delivery.status !== 'pending') log.mustTake(1, delivery.bytes.length)
    log.update([delivery], {
      status: 'pending',
      note: undefined,
      remaining: assumed.retryAttempts === 'schedule' ? MAX_ATTEMPTS : 1,
      nextAttemptAt: clock.now(),
      ...(assumed.retryBody === 'new-timestamp' && { bytes: this.#withNewTimestamp(delivery) }),
    })
    feed.publish({ type: 'delivery', delivery })
    engine.schedule([delivery])
    return delivery
  }

  /** Retries a failed delivery by hand; makes the next attempt of a pending one now. */
  tryAgain(id: string): StoredDelivery {
    const delivery = this.get(id)
    const { accountKey, webhookId, status, isInFlight } = delivery
    if (status !== 'pending') return this.retry(accountKey, webhookId, id)
    if (isInFlight) return delivery
    const { log, feed, engine, clock } = this.#parts
    log.update([delivery], { status, nextAttemptAt: clock.now() })
    feed.publish({ type: 'delivery', delivery })
    engine.schedule([delivery])
    return delivery
  }

  /** Makes a separate delivery of the same event, with a single attempt. */
  resend(id: string, { body, sign = 'valid' }: ResendOptions = {}): StoredDelivery {
    const original = this.get(id)
    const webhook = this.#parts.webhooks.find(original.webhookId)
    if (webhook === undefined) throw new Refusal('unknown', 'the webhook of the delivery has been deleted')
    if (sign === 'stale-bytes' && body === undefined)
      throw new Refusal('invalid', 'stale-bytes needs an edited body, whose signature will be that of the original')
    const bytes = body === undefined ? original.bytes : typeof body === 'string' ? new TextEncoder().encode(body) : body
    const { eventId, eventType } = body === undefined ? original : nameEvent(bytes, original)
    this.#parts.log.mustTake(1, bytes.length)
    const now = this.#parts.clock.now()
    const delivery: StoredDelivery = {
      ...newDelivery(webhook, { id: this.#parts.ids.object(), eventId, eventType, createdAt: now, bytes }),
      remaining: 1,
      resendOf: id,
      signing: sign,
      signedBytes: sign === 'stale-bytes' ? original.bytes : undefined,
    }
    this.#parts.log.add([delivery])
    this.#parts.feed.publish({ type: 'delivery', delivery })
    this.#parts.engine.schedule([delivery])
    return delivery
  }

  /** Ends the log of a webhook that is deleted (A33), in one transaction with `write`. */
  endWebhook(webhookId: string, write: () => void): void {
    const { assumed, log, feed } = this.#parts
    const pending = log.list(webhookId).filter(({ status }) => status === 'pending')
    if (assumed.deletedLog === 'gone') log.removeWebhook(webhookId, write)
    else {
      log.update(pending, { status: 'failed', nextAttemptAt: undefined, note: 'the webhook was deleted' }, write)
      for (const delivery of pending) feed.publish({ type: 'delivery', delivery })
    }
  }

  /** Sets a new timestamp in the body. A body that was edited by hand and is not an event stays as it is. */
  #withNewTimestamp(delivery: StoredDelivery): Uint8Array {
    const event = readEvent(delivery)
    if (typeof event !== 'object' || event === null || Array.isArray(event)) return delivery.bytes
    const changed = { ...event, timestamp: new Date(this.#parts.clock.now()).toISOString() }
    return new TextEncoder().encode(formatJson(changed, this.#parts.format, delivery.eventId))
  }
}

function nameEvent(
  bytes: Uint8Array,
  { eventId, eventType }: StoredDelivery,
): Pick<StoredDelivery, 'eventId' | 'eventType'> {
  const { id, type } = Object(readEvent({ bytes }))
  return {
    eventId: typeof id === 'string' && id !== '' ? id.slice(0, MAX_ID_LENGTH) : eventId,
    eventType: typeof type === 'string' && type !== '' ? type.slice(0, MAX_TYPE_LENGTH) : eventType,
  }
}
