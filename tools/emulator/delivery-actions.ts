import { isObject } from '../../src/protocol/envelope.ts'
import { MAX_ATTEMPTS, MAX_ID_LENGTH, MAX_TYPE_LENGTH } from '../../src/protocol/schedule.ts'
import { type BodyFormat, formatJson } from '../wire/json-forms.ts'
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

/** Creates what is done with deliveries by hand. */
export function createDeliveryActions({ webhooks, assumed, clock, ids, log, feed, engine, format }: EventsParts) {
  const plan = (delivery: StoredDelivery): StoredDelivery => {
    feed.publish({ type: 'delivery', delivery })
    engine.schedule([delivery])
    return delivery
  }
  const get = (id: string): StoredDelivery => {
    const delivery = log.find(id)
    if (delivery === undefined) throw new Refusal('unknown', 'there is no such delivery')
    return delivery
  }
  /** Retries a delivery by hand. Service text, section 3.2; A13, A14 and A15. */
  const retry = (accountKey: string, webhookId: string, id: string): StoredDelivery => {
    webhooks.get(accountKey, webhookId)
    const delivery = get(id)
    if (delivery.webhookId !== webhookId) throw new Refusal('unknown', 'there is no such delivery')
    const mayRetry = delivery.status === 'failed' || (assumed.retryOfUnfailed === 'accepted' && !delivery.isInFlight)
    if (!mayRetry) throw new Refusal('not-failed', `the delivery has not failed: it is ${delivery.status}`)
    if (delivery.status !== 'pending') log.mustTake(1, delivery.bytes.length)
    log.update([delivery], {
      status: 'pending',
      note: undefined,
      remaining: assumed.retryAttempts === 'schedule' ? MAX_ATTEMPTS : 1,
      nextAttemptAt: clock.now(),
      ...(assumed.retryBody === 'new-timestamp' && { bytes: withTimestamp(delivery, clock.now(), format) }),
    })
    return plan(delivery)
  }
  return {
    get,
    retry,
    listOf(accountKey: string, webhookId: string): readonly StoredDelivery[] {
      webhooks.mustHaveLog(accountKey, webhookId)
      return log.list(webhookId)
    },
    list({ webhookId, eventId }: { webhookId?: string | undefined; eventId?: string | undefined }) {
      return log.list(webhookId).filter((delivery) => eventId === undefined || delivery.eventId === eventId)
    },
    /** Retries a failed delivery by hand; makes the next attempt of a pending one now. */
    tryAgain(id: string): StoredDelivery {
      const delivery = get(id)
      const { accountKey, webhookId, status, isInFlight } = delivery
      if (status !== 'pending') return retry(accountKey, webhookId, id)
      if (isInFlight) return delivery
      log.update([delivery], { status, nextAttemptAt: clock.now() })
      return plan(delivery)
    },
    /** Makes a separate delivery of the same event, with a single attempt. */
    resend(id: string, { body, sign = 'valid' }: ResendOptions = {}): StoredDelivery {
      const original = get(id)
      const webhook = webhooks.find(original.webhookId)
      if (webhook === undefined) throw new Refusal('unknown', 'the webhook of the delivery has been deleted')
      if (sign === 'stale-bytes' && body === undefined)
        throw new Refusal('invalid', 'stale-bytes needs an edited body, whose signature will be that of the original')
      const bytes =
        body === undefined ? original.bytes : typeof body === 'string' ? new TextEncoder().encode(body) : body
      const { eventId, eventType } = body === undefined ? original : nameEvent(bytes, original)
      log.mustTake(1, bytes.length)
      const delivery: StoredDelivery = {
        ...newDelivery(webhook, { id: ids.object(), eventId, eventType, createdAt: clock.now(), bytes }),
        remaining: 1,
        resendOf: id,
        signing: sign,
        signedBytes: sign === 'stale-bytes' ? original.bytes : undefined,
      }
      log.add([delivery])
      return plan(delivery)
    },
    /** Ends the log of a webhook that is deleted (A33), in one transaction with `write`. */
    endWebhook(webhookId: string, write: () => void): void {
      if (assumed.deletedLog === 'gone') return log.removeWebhook(webhookId, write)
      const pending = log.list(webhookId).filter(({ status }) => status === 'pending')
      log.update(pending, { status: 'failed', nextAttemptAt: undefined, note: 'the webhook was deleted' }, write)
      for (const delivery of pending) feed.publish({ type: 'delivery', delivery })
    },
  }
}

/** Sets a new timestamp in the body. A body that was edited by hand and is not an event stays as it is. */
function withTimestamp(delivery: StoredDelivery, now: number, format: BodyFormat): Uint8Array {
  const event = readEvent(delivery)
  if (!isObject(event)) return delivery.bytes
  const changed = { ...event, timestamp: new Date(now).toISOString() }
  return new TextEncoder().encode(formatJson(changed, format, delivery.eventId))
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
