import { isUtf8 } from 'node:buffer'
import { copyPlain } from './copy-plain.ts'
import type { AnyEvent, OpenData } from './events.ts'
import { isBytes } from './is-bytes.ts'
import { Rejection } from './outcome.ts'
import type { About } from './pattern.ts'
import { ignoreRejection, isThenable } from './promises.ts'
import { MAX_ACCOUNT_KEY_LENGTH, MAX_ID_LENGTH, MAX_TYPE_LENGTH } from './schedule.ts'

/** A parsed envelope that nothing else refers to yet. */
export type ParsedEvent = { -readonly [K in keyof AnyEvent]: AnyEvent[K] }

/** An event, and its envelope as JSON text: the body of the CRM service, or around the body of another sender. */
export interface Envelope {
  readonly event: ParsedEvent
  readonly text: string
}

const NOT_UTF8 = new Rejection(
  'invalid_utf8',
  'The body is signed, but it is not strict UTF-8 without a byte order mark.',
)
const NOT_JSON = new Rejection('invalid_json', 'The body is signed, but it is not JSON.')
const NOT_AN_OBJECT = new Rejection('invalid_envelope', 'The event is not an object.')
const NOT_ONE_EVENT = new Rejection(
  'invalid_envelope',
  'It takes one object, { id, type, timestamp, accountKey, data }. Parse text before, and give the events of a list one by one.',
)
const NO_ID = refuseText('id', MAX_ID_LENGTH)
const NO_TYPE = refuseText('type', MAX_TYPE_LENGTH)
const NO_TIMESTAMP = new Rejection('invalid_envelope', '"timestamp" must be a string.')
const NO_ACCOUNT = refuseText('accountKey', MAX_ACCOUNT_KEY_LENGTH)
const NO_DATA = new Rejection('invalid_envelope', '"data" must be an object.')

/** Parses an envelope (service text, section 2.4). Missing or null `data` becomes `{}`; unknown fields are kept. */
export function parseEnvelope(body: Uint8Array): Envelope | Rejection {
  const parsed = parseJson(body)
  if (parsed instanceof Rejection) return parsed
  const event = checkEnvelope(parsed.value)
  return event instanceof Rejection ? event : { event, text: parsed.text }
}

/** Parses strict UTF-8 and JSON. */
export function parseJson(body: Uint8Array): { readonly value: unknown; readonly text: string } | Rejection {
  try {
    const text = decode(body)
    return text === undefined ? NOT_UTF8 : { value: JSON.parse(text), text }
  } catch {
    return NOT_JSON
  }
}

/** Checks the fields of an envelope, and sets missing `data` on the object. */
export function checkEnvelope(value: unknown): ParsedEvent | Rejection {
  if (!isObject(value)) return NOT_AN_OBJECT
  if (!isTextUpTo(value.id, MAX_ID_LENGTH)) return NO_ID
  if (!isTextUpTo(value.type, MAX_TYPE_LENGTH)) return NO_TYPE
  if (typeof value.timestamp !== 'string') return NO_TIMESTAMP
  if (!isTextUpTo(value.accountKey, MAX_ACCOUNT_KEY_LENGTH)) return NO_ACCOUNT
  if (value.data == null) value.data = {}
  else if (!isObject(value.data)) return NO_DATA
  // Every field has just been checked.
  return value as unknown as ParsedEvent
}

/** Returns a copy of an event of the app, which handlers may change. Data that is not plain is shared: a copy would lack its methods. */
export function toOwnEvent(event: unknown): ParsedEvent | Rejection {
  if (isThenable(event)) return refusePromise('The event', event)
  if (!isObject(event) || isBytes(event)) return NOT_ONE_EVENT
  const { id, type, timestamp, accountKey, data } = event // some may be getters of its class
  if (isThenable(data)) return refusePromise('Its data', data)
  if (isObject(data) && isThenable(data.record)) return refusePromise('Its data.record', data.record)
  return checkEnvelope(copyPlain({ ...event, id, type, timestamp, accountKey, data }))
}

function refusePromise(what: string, promise: unknown): Rejection {
  ignoreRejection(promise)
  return new Rejection('invalid_envelope', `${what} is a promise: await it.`)
}

/** Returns the `accountKey` that an unverified body claims, whatever else is wrong with the envelope. */
export function claimedAccountOf(body: Uint8Array): string | undefined {
  const parsed = parseJson(body)
  const value = parsed instanceof Rejection ? undefined : parsed.value
  return isObject(value) && isTextUpTo(value.accountKey, MAX_ACCOUNT_KEY_LENGTH) ? value.accountKey : undefined
}

function decode(body: Uint8Array): string | undefined {
  const hasByteOrderMark = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf
  // Takes half the time of a strict TextDecoder.
  if (hasByteOrderMark || !isUtf8(body)) return undefined
  return (Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength)).toString()
}

/** An object that is neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function refuseText(field: string, length: number): Rejection {
  return new Rejection('invalid_envelope', `"${field}" must be a non-empty string of at most ${length} characters.`)
}

function isTextUpTo(value: unknown, length: number): value is string {
  return typeof value === 'string' && value !== '' && value.length <= length
}

/** Returns true if data has a record: an object with a string `_id`. */
export function hasRecord(data: OpenData): boolean {
  return isObject(data.record) && typeof data.record._id === 'string'
}

/** Parses the text of an envelope anew, for one more handler: takes half the time of copying a small event, and a sixth for many small objects. */
export function parseAgain(text: string, about: About): ParsedEvent {
  return withModel(checkEnvelope(JSON.parse(text)) as ParsedEvent, about) // it has been checked
}

const ENVELOPE_FIELDS = 5

/**
 * Returns the event for handlers, with the model and action of its type in place of such fields from the sender. An event without further
 * fields is written out: adding fields to an object from JSON.parse costs as much as parsing it.
 */
export function withModel(event: ParsedEvent, { model, action }: About): ParsedEvent {
  if (model === undefined || action === undefined) {
    if (event.model === undefined && event.action === undefined) return event
    const { model: _model, action: _action, ...rest } = event
    return rest
  }
  let fields = 0
  for (const _field in event) fields++
  if (fields > ENVELOPE_FIELDS) return { ...event, model, action }
  const { id, type, timestamp, accountKey, data } = event
  return { id, type, timestamp, accountKey, data, model, action }
}
