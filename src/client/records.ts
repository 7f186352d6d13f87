import * as z from 'zod'
import { type Entry, findEntry, isEntry, own } from './find-entry.ts'

/** Webhook registration without its secret. Service text, section 2.3. Only the id is in every answer. */
export interface Webhook {
  readonly id: string
  readonly url: string | undefined
  readonly events: readonly string[] | undefined
  /** True if it delivers. Undefined if the service does not say. */
  readonly active: boolean | undefined
  readonly description: string | undefined
  readonly createdAt: Date | undefined
  /** Original object of the service, without anything secret. */
  readonly raw: Readonly<Record<string, unknown>>
}

/** State of a delivery, mapped from the many words that services use. */
export type DeliveryState = 'pending' | 'succeeded' | 'failed' | 'unknown'

/** Entry of a webhook's delivery log. Only `id`, `state` and `status` are always present. */
export interface Delivery {
  readonly id: string
  readonly state: DeliveryState
  /** State in the service's own word. */
  readonly status: string
  readonly eventId: string | undefined
  readonly eventType: string | undefined
  readonly attempts: number | undefined
  readonly createdAt: Date | undefined
  readonly lastAttemptAt: Date | undefined
  readonly nextAttemptAt: Date | undefined
  /** Status of the receiver's last answer. */
  readonly responseStatus: number | undefined
  readonly error: string | undefined
  readonly raw: Readonly<Record<string, unknown>>
}

/** Contact in the listing. Service text, section 2.4. */
export interface ListedContact {
  readonly id: string
  readonly firstName: string | undefined
  readonly lastName: string | undefined
  readonly email: string | undefined
  readonly status: string | undefined
  readonly raw: Readonly<Record<string, unknown>>
}

/** Words for delivery states (assumption A10), in lower case and without spaces, dashes and underscores. */
const STATES: Readonly<Record<Exclude<DeliveryState, 'unknown'>, readonly string[]>> = {
  pending: [
    'pending',
    'attempting',
    'retrying',
    'queued',
    'scheduled',
    'waiting',
    'sending',
    'processing',
    'inprogress',
  ],
  succeeded: ['success', 'succeeded', 'successful', 'delivered', 'completed', 'ok'],
  failed: ['failed', 'failure', 'error', 'errored', 'exhausted', 'dead'],
}

const anyId = z.union([z.string().min(1).max(256), z.int().transform(String)])
const optionalText = z.string().optional().catch(undefined)
const optionalCount = z
  .union([z.number(), z.string().min(1).transform(Number)]) // null means no status, and must not become 0
  .pipe(z.int().nonnegative())
  .optional()
  .catch(undefined)
const optionalTime = z
  .union([z.string(), z.number().transform((value) => (value > 1e11 ? value : value * 1_000))])
  .transform((value) => new Date(value))
  .refine((date) => !Number.isNaN(date.getTime()))
  .optional()
  .catch(undefined)

const webhookFields = z.object({
  url: optionalText,
  events: z.array(z.string()).optional().catch(undefined),
  active: z
    .union([z.boolean(), z.stringbool({ truthy: ['true'], falsy: ['false'] })])
    .optional()
    .catch(undefined),
  description: optionalText,
  createdAt: optionalTime,
})

const deliveryFields = z.object({
  status: z.union([z.string(), z.number().transform(String)]).catch(''),
  eventId: anyId.optional().catch(undefined),
  eventType: optionalText,
  type: optionalText,
  event: z
    .union([z.string(), z.looseObject({ id: anyId.optional().catch(undefined), type: optionalText })])
    .optional()
    .catch(undefined),
  attempts: z
    .union([z.array(z.unknown()).transform((list) => list.length), optionalCount])
    .optional()
    .catch(undefined),
  createdAt: optionalTime,
  lastAttemptAt: optionalTime,
  nextAttemptAt: optionalTime,
  responseStatus: optionalCount,
  error: optionalText,
})

const contactFields = z.object({
  firstName: optionalText,
  lastName: optionalText,
  email: optionalText,
  status: optionalText,
})

/** Returns the id of an object of the service: `_id`, or otherwise `id` (assumption A05). */
export function idOf(entry: Entry): string | undefined {
  return anyId.safeParse(own(entry, '_id')).data ?? anyId.safeParse(own(entry, 'id')).data
}

/** Finds the object with an id in an answer. */
export function findIdentified(body: unknown): Entry | undefined {
  return findEntry(body, (entry) => idOf(entry) !== undefined)
}

export function toWebhook(value: unknown): Webhook | undefined {
  const id = isEntry(value) ? idOf(value) : undefined
  if (!isEntry(value) || id === undefined) return undefined
  const { url, events, active, description, createdAt } = webhookFields.parse(value)
  return { id, url, events, active, description, createdAt, raw: withoutSecrets(value) }
}

export function toDelivery(value: unknown): Delivery | undefined {
  const id = isEntry(value) ? idOf(value) : undefined
  if (!isEntry(value) || id === undefined) return undefined
  const { event, type, eventType, eventId, ...fields } = deliveryFields.parse(value)
  const embedded = typeof event === 'object' ? event : undefined
  return {
    id,
    state: toState(fields.status),
    status: fields.status,
    eventId: eventId ?? embedded?.id,
    eventType: eventType ?? type ?? embedded?.type ?? (typeof event === 'string' ? event : undefined),
    attempts: fields.attempts,
    createdAt: fields.createdAt,
    lastAttemptAt: fields.lastAttemptAt,
    nextAttemptAt: fields.nextAttemptAt,
    responseStatus: fields.responseStatus,
    error: fields.error,
    raw: withoutSecrets(value),
  }
}

export function toContact(value: unknown): ListedContact | undefined {
  const id = isEntry(value) ? idOf(value) : undefined
  if (!isEntry(value) || id === undefined) return undefined
  const { firstName, lastName, email, status } = contactFields.parse(value)
  return { id, firstName, lastName, email, status, raw: value }
}

function toState(status: string): DeliveryState {
  const word = status.toLowerCase().replaceAll(/[\s_-]/g, '')
  if (STATES.pending.includes(word)) return 'pending'
  if (STATES.succeeded.includes(word)) return 'succeeded'
  return STATES.failed.includes(word) ? 'failed' : 'unknown'
}

/** Returns the secret of a registration, which only the answer to its creation has. Null and asterisks count as none (assumption A03). */
export function secretIn(body: unknown): string | undefined {
  const places = [findIdentified(body), isEntry(body) ? body : undefined]
  for (const place of places) {
    const secret = place && own(place, 'secret')
    if (typeof secret === 'string' && secret.trim() !== '' && !/^[*•x.]+$|\*{3}/.test(secret)) return secret
  }
  return undefined
}

function withoutSecrets(entry: Entry): Entry {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => !/secret|token|password/i.test(name)))
}
