import { parseJson } from '../../src/protocol/parse-json.ts'
import { MAX_ATTEMPTS } from '../../src/protocol/schedule.ts'
import type { Assumed } from './assumptions.ts'
import type { DeliveryAttempt, EmulatorDelivery } from './delivery.ts'
import type { Webhook } from './webhooks.ts'

export type Json = Readonly<Record<string, unknown>> | readonly unknown[]

export interface Page {
  readonly items: readonly Json[]
  readonly total: number
  readonly page: number
  readonly nextCursor: string | undefined
}

const UNDOCUMENTED = { __v: 0, _links: { self: null }, flags: ['beta'], owner: { id: 1 } }

/** Writes a registration as the service does (A03, A05). Includes the secret only if the webhook is new. */
export function showWebhook(webhook: Webhook, assumed: Assumed, options: { readonly isNew: boolean }): Json {
  const { id, url, events, description, active, secret, createdAt } = webhook
  const shown = {
    ...showId(id, assumed),
    url,
    events,
    ...(description !== undefined && { description }),
    active,
    createdAt,
  }
  if (options.isNew) return { ...shown, secret }
  switch (assumed.webhookBody) {
    case 'null-secret':
      return { ...shown, secret: null }
    case 'masked-secret':
      return { ...shown, secret: '********' }
    case 'extra-fields':
      return { ...shown, ...UNDOCUMENTED }
    default:
      return shown
  }
}

/** Writes the body of an answer with one webhook, wrapped if that is assumed. The documented answer to a creation is never wrapped. */
export function showOne(webhook: Webhook, assumed: Assumed): Json {
  const shown = showWebhook(webhook, assumed, { isNew: false })
  return assumed.webhookBody === 'data' || assumed.webhookBody === 'webhook' ? { [assumed.webhookBody]: shown } : shown
}

/** Writes the body of a list (A04, A16). */
export function showList(name: string, form: Assumed['listBody'], { items, total, page, nextCursor }: Page): Json {
  const next = nextCursor === undefined ? {} : { nextCursor }
  switch (form) {
    case 'data':
      return { data: items, ...next }
    case 'items':
      return { items, total, ...next }
    case 'named':
      return { [name]: items, ...next }
    case 'docs':
      return { docs: items, page, ...next }
    case 'array':
      // A cursor needs an object to be in.
      return nextCursor === undefined ? items : { items, ...next }
  }
}

/** Writes an entry of the delivery log (A05, A09, A10). */
export function showDelivery(delivery: EmulatorDelivery & { readonly bytes: Uint8Array }, assumed: Assumed): Json {
  const time = (ms: number) => (assumed.logEntry === 'epoch-milliseconds' ? ms : new Date(ms).toISOString())
  const head = { ...showId(delivery.id, assumed), status: wordFor(delivery, assumed.deliveryWords) }
  const createdAt = time(delivery.createdAt)
  if (assumed.logEntry === 'minimal') return { ...head, createdAt }
  const last = delivery.attempts.at(-1)
  const { eventId, eventType } = delivery
  return {
    ...head,
    webhookId: delivery.webhookId,
    ...(assumed.logEntry === 'embedded' ? { event: readEvent(delivery) } : { eventId }),
    ...(assumed.logEntry !== 'embedded' && (assumed.logEntry === 'type' ? { type: eventType } : { eventType })),
    attempts: delivery.attempts.length,
    maxAttempts: MAX_ATTEMPTS,
    createdAt,
    lastAttemptAt: last === undefined ? null : time(last.at),
    nextAttemptAt: delivery.nextAttemptAt === undefined ? null : time(delivery.nextAttemptAt),
    responseStatus: last?.status ?? null,
    error: delivery.note ?? last?.error ?? null,
    durationMs: last === undefined ? null : Math.round(last.durationMs),
    attemptLog: delivery.attempts.map((attempt) => showAttempt(attempt, time)),
    ...(assumed.logEntry === 'extra-fields' && UNDOCUMENTED),
  }
}

function showAttempt({ number, at, durationMs, status, error }: DeliveryAttempt, time: (ms: number) => unknown): Json {
  return {
    attempt: number,
    at: time(at),
    durationMs: Math.round(durationMs),
    responseStatus: status ?? null,
    error: error ?? null,
  }
}

function showId(id: string, { idName }: Assumed): Readonly<Record<string, string>> {
  return { ...(idName !== 'id' && { _id: id }), ...(idName !== '_id' && { id }) }
}

function wordFor({ status, isInFlight, attempts }: EmulatorDelivery, words: Assumed['deliveryWords']): string {
  switch (words) {
    case 'pending':
      return status
    case 'upper':
      return status.toUpperCase()
    case 'delivered':
      if (status !== 'pending') return status === 'success' ? 'delivered' : status
      return isInFlight ? 'attempting' : attempts.length > 0 ? 'retrying' : 'queued'
    case 'succeeded':
      return { pending: 'attempting', success: 'succeeded', failed: 'failed' }[status]
    case 'unknown':
      return { pending: 'parked', success: 'squared', failed: 'failed' }[status]
  }
}

/** Parses the body of a delivery. Returns null for a body that was edited by hand and is not JSON. */
export function readEvent({ bytes }: { readonly bytes: Uint8Array }): unknown {
  return parseJson(new TextDecoder().decode(bytes)) ?? null
}
