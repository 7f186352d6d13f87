import * as z from 'zod'
import { isObject } from '../protocol/envelope.ts'

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
const STATES: readonly (readonly [DeliveryState, RegExp])[] = [
  ['pending', /^(pending|attempting|retrying|queued|scheduled|waiting|sending|processing|inprogress)$/],
  ['succeeded', /^(success|succeeded|successful|delivered|completed|ok)$/],
  ['failed', /^(failed|failure|error|errored|exhausted|dead)$/],
]

/** Reads a field as undefined if it is absent or of a wrong type. The result has its key in any case, which `prefault` causes. */
function optional<T>(schema: z.ZodType<T>) {
  return schema.optional().catch(undefined).prefault(undefined)
}

const id = z.union([z.string().min(1).max(256), z.int().transform(String)])
const text = optional(z.string())
const count = z
  .union([z.number(), z.string().min(1).transform(Number)]) // null means no status, and must not become 0
  .pipe(z.int().nonnegative())
const time = optional(
  z
    .union([z.string(), z.number().transform((value) => (value > 1e11 ? value : value * 1_000))])
    .transform((value) => new Date(value))
    .refine((date) => !Number.isNaN(date.getTime())),
)

const webhookFields = z.object({
  url: text,
  events: optional(z.array(z.string())),
  active: optional(z.union([z.boolean(), z.stringbool({ truthy: ['true'], falsy: ['false'] })])),
  description: text,
  createdAt: time,
})

const deliveryFields = z.object({
  status: z.union([z.string(), z.number().transform(String)]).catch(''),
  eventId: optional(id),
  eventType: text,
  type: text,
  event: optional(z.union([z.string(), z.looseObject({ id: optional(id), type: text })])),
  attempts: optional(z.union([z.array(z.unknown()).transform((list) => list.length), count])),
  createdAt: time,
  lastAttemptAt: time,
  nextAttemptAt: time,
  responseStatus: optional(count),
  error: text,
})

const contactFields = z.object({ firstName: text, lastName: text, email: text, status: text })

/** Returns the id of an object of the service: `_id`, or otherwise `id` (assumption A05). */
export function idOf(entry: Entry): string | undefined {
  return id.safeParse(entry._id).data ?? id.safeParse(entry.id).data
}

export function findIdentified(body: unknown): Entry | undefined {
  return findEntry(body, (entry) => idOf(entry) !== undefined)
}

export function toWebhook(value: unknown): Webhook | undefined {
  return toRecord(value, (entry) => ({ ...webhookFields.parse(entry), raw: withoutSecrets(entry) }))
}

export function toDelivery(value: unknown): Delivery | undefined {
  return toRecord(value, (entry) => {
    const { event, type, ...fields } = deliveryFields.parse(entry)
    const embedded = typeof event === 'string' ? { id: undefined, type: event } : event
    const eventId = fields.eventId ?? embedded?.id
    const eventType = fields.eventType ?? type ?? embedded?.type
    return { ...fields, state: toState(fields), eventId, eventType, raw: withoutSecrets(entry) }
  })
}

export function toContact(value: unknown): ListedContact | undefined {
  return toRecord(value, (entry) => ({ ...contactFields.parse(entry), raw: entry }))
}

function toRecord<T>(value: unknown, toFields: (entry: Entry) => T): (T & { readonly id: string }) | undefined {
  const ownId = isObject(value) ? idOf(value) : undefined
  return isObject(value) && ownId !== undefined ? { id: ownId, ...toFields(value) } : undefined
}

/** Reads the state from its word. An answer of 2xx has delivered the event, whatever the word is. */
function toState({ status, responseStatus = 0 }: Pick<Delivery, 'status' | 'responseStatus'>): DeliveryState {
  if (responseStatus >= 200 && responseStatus < 300) return 'succeeded'
  const word = status.toLowerCase().replaceAll(/[\s_-]/g, '')
  return STATES.find(([, words]) => words.test(word))?.[0] ?? 'unknown'
}

/** Returns the secret of a registration, which only the answer to its creation has. Null and asterisks count as none (assumption A03). */
export function secretIn(body: unknown): string | undefined {
  for (const place of [findIdentified(body), body]) {
    const secret = isObject(place) ? place.secret : undefined
    if (typeof secret === 'string' && secret.trim() !== '' && !/^[*•x.]+$|\*{3}/.test(secret)) return secret
  }
  return undefined
}

function withoutSecrets(entry: Entry): Entry {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => !/secret|token|password/i.test(name)))
}

/** Names under which services wrap the requested object (assumptions A03 and A04). */
const WRAPPERS = ['data', 'result', 'webhook', 'delivery', 'item', 'payload']
const LISTS = [...WRAPPERS, 'items', 'webhooks', 'deliveries', 'contacts', 'docs', 'results', 'records', 'entries']

export type Entry = Readonly<Record<string, unknown>>

/** Finds the requested object in an answer: wrapped under a known name, or the answer itself. */
export function findEntry(body: unknown, isMeant: (entry: Entry) => boolean): Entry | undefined {
  if (!isObject(body)) return undefined
  for (const name of WRAPPERS) {
    const inner = body[name]
    if (isObject(inner) && isMeant(inner)) return inner
  }
  return isMeant(body) ? body : undefined
}

/** Finds a list under a known name, at the top or in a known wrapper; otherwise the first in a known wrapper, or at the top. */
export function findList(body: unknown): { items: readonly unknown[]; around: readonly Entry[] } | undefined {
  if (Array.isArray(body)) return { items: body, around: [] }
  if (!isObject(body)) return undefined
  const inside = WRAPPERS.map((name) => body[name]).filter(isObject)
  const named = [body, ...inside].map((entry) => [entry, LISTS.map((name) => entry[name])] as const)
  const unnamed = [...inside, body].map((entry) => [entry, Object.values(entry)] as const)
  for (const [entry, values] of [...named, ...unnamed]) {
    const items = values.find(Array.isArray)
    if (items !== undefined) return { items, around: entry === body ? [body] : [entry, body] }
  }
  return undefined
}
