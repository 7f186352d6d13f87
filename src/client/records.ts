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

// Each returns undefined for a value that is absent or of a wrong type.

function toText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function toTexts(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : undefined
}

function toId(value: unknown): string | undefined {
  const id = Number.isSafeInteger(value) ? String(value) : (toText(value) ?? '')
  return id === '' || id.length > 256 ? undefined : id
}

function toFlag(value: unknown): boolean | undefined {
  if (value === true || value === 'true') return true
  return value === false || value === 'false' ? false : undefined
}

function toCount(value: unknown): number | undefined {
  const count = typeof value === 'string' && value !== '' ? Number(value) : value // null means none, and must not become 0
  return Number.isSafeInteger(count) && Number(count) >= 0 ? Number(count) : undefined
}

function toTime(value: unknown): Date | undefined {
  const time = new Date(typeof value === 'number' ? (value > 1e11 ? value : value * 1_000) : (toText(value) ?? ''))
  return Number.isNaN(time.getTime()) ? undefined : time
}

/** Returns the id of an object of the service: `_id`, or otherwise `id` (assumption A05). */
function idOf(entry: Entry): string | undefined {
  return toId(entry._id) ?? toId(entry.id)
}

export function findIdentified(body: unknown): Entry | undefined {
  return findEntry(body, (entry) => idOf(entry) !== undefined)
}

export function toWebhook(value: unknown): Webhook | undefined {
  return toRecord(value, (entry) => ({
    url: toText(entry.url),
    events: toTexts(entry.events),
    active: toFlag(entry.active),
    description: toText(entry.description),
    createdAt: toTime(entry.createdAt),
    raw: withoutSecrets(entry),
  }))
}

export function toDelivery(value: unknown): Delivery | undefined {
  return toRecord(value, (entry) => {
    const { event, attempts } = entry
    const { id, type = event } = Object(event)
    const status = typeof entry.status === 'number' ? String(entry.status) : (toText(entry.status) ?? '')
    const responseStatus = toCount(entry.responseStatus)
    return {
      state: toState(status, responseStatus),
      status,
      eventId: toId(entry.eventId) ?? toId(id),
      eventType: toText(entry.eventType) ?? toText(entry.type) ?? toText(type),
      attempts: Array.isArray(attempts) ? attempts.length : toCount(attempts),
      createdAt: toTime(entry.createdAt),
      lastAttemptAt: toTime(entry.lastAttemptAt),
      nextAttemptAt: toTime(entry.nextAttemptAt),
      responseStatus,
      error: toText(entry.error),
      raw: withoutSecrets(entry),
    }
  })
}

export function toContact(value: unknown): ListedContact | undefined {
  return toRecord(value, (entry) => ({
    firstName: toText(entry.firstName),
    lastName: toText(entry.lastName),
    email: toText(entry.email),
    status: toText(entry.status),
    raw: entry,
  }))
}

function toRecord<T>(value: unknown, toFields: (entry: Entry) => T): (T & { readonly id: string }) | undefined {
  const id = isObject(value) ? idOf(value) : undefined
  return isObject(value) && id !== undefined ? { id, ...toFields(value) } : undefined
}

/** Reads the state from its word. An answer of 2xx has delivered the event, whatever the word is. */
function toState(status: string, responseStatus = 0): DeliveryState {
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
