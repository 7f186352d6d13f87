import { createHash, createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { checkEnvelope, type Envelope, isObject, parseJson } from './envelope.ts'
import { ConfigurationError } from './errors.ts'
import type { RequestHead } from './head.ts'
import { isBytes } from './is-bytes.ts'
import { type Kind, withMethods } from './option-checker.ts'
import { findOtherSender } from './other-senders.ts'
import { Rejection, type RejectionCode } from './outcome.ts'
import { ignoreRejection, isThenable } from './promises.ts'
import type { Protocol } from './protocol.ts'
import type { Sender, SenderHeaders, SignedHead } from './sender.ts'
import { reasonOf, show } from './show.ts'
import { importSecret, onlyValue } from './signature.ts'

const MOST_DIGESTS = 8
const DIGEST_BYTES = 32
/** A shorter key that was decoded can be guessed, or is what a lenient decoder made of another kind of secret. */
const LEAST_KEY_BYTES = 16
/** A header that names an event: two of them are joined by a comma. */
const ONE_VALUE = /^[\x21-\x2b\x2d-\x7e]{1,1024}$/
/** In JSON text, no value contains this: each quote inside has a backslash before it. */
const DATA = ',"data":'

/** The kind of a sender: a profile that was called, or an own one. */
export const SENDER: Kind = (value) =>
  withMethods('readHead', 'nameEvent', 'sign')(value) &&
  'a sender: github() or another one of postern/senders, or an object with readHead(), nameEvent() and sign()'

interface SenderHead {
  readonly headers: SenderHeaders
  readonly signed: SignedHead
  readonly receivedAt: number
}

/** The protocol of a sender. Its events become envelopes of the CRM service, so that stores and inboxes need not know it. */
export function toProtocol(sender: Sender<unknown>): Protocol {
  const secretHint = `It is the secret that ${sender.name} signs webhooks with.`
  const protocol: Protocol<SenderHead> = {
    sender,
    secretHint,
    importSecret: (secret) => importKey(sender, secret, secretHint),
    readHead: (request, receivedAt) => readHead(sender, request, receivedAt),
    readGiven({ headers }, receivedAt) {
      if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) return undefined
      const entries = Object.entries(headers)
      const header =
        typeof headers.get === 'function'
          ? (name: string) => (headers as Headers).get(name)
          : (name: string) => entries.flatMap(([key, value]) => (key.toLowerCase() === name ? (value ?? []) : []))
      return readHead(sender, { header }, receivedAt)
    },
    matches: matchesDigest,
    parse: (body, head) => parseEvent(sender, body, head),
    toSigned: (envelope) => envelope.slice(envelope.indexOf(DATA) + DATA.length, -1),
  }
  return protocol as Protocol
}

function importKey(sender: Sender<unknown>, secret: unknown, hint: string): KeyObject {
  const key = importSecret(secret, hint)
  if (typeof secret !== 'string' || sender.toKey === undefined) return key
  const bytes: unknown = mustBeNow(sender, 'toKey', sender.toKey(secret))
  if (!isBytes(bytes)) throw new TypeError(`toKey() of ${sender.name} returned ${show(bytes)}, not bytes.`)
  if (bytes.length >= Math.min(LEAST_KEY_BYTES, secret.length)) return createSecretKey(bytes)
  throw new ConfigurationError('secret_unusable', `The signing secret is too short for ${sender.name}. ${hint}`)
}

/** Returns what a method of a sender returned. A promise is a mistake of its author, whose rejection must not end the process. */
function mustBeNow<T>({ name }: Sender<unknown>, method: string, result: T): T {
  if (!isThenable(result)) return result
  ignoreRejection(result)
  throw new TypeError(`${method}() of ${name} returned a promise; it cannot wait.`)
}

/** Stop 1: refuses a request that lacks a header, has one twice, or was signed at another time. */
function readHead(
  sender: Sender<unknown>,
  request: Pick<RequestHead, 'header'>,
  receivedAt: number,
): SenderHead | Rejection {
  const [signature] = sender.headers
  const malformed = (name: string, why = '') =>
    new Rejection('signature_malformed', `${name} is not one value in the form of ${sender.name}${why}.`)
  const headers: Record<string, string> = Object.create(null)
  for (const name of [...sender.headers, ...(sender.optionalHeaders ?? [])]) {
    const value = onlyValue(request.header(name))
    if (value !== undefined) {
      if (name === signature ? value === '' : !ONE_VALUE.test(value)) return malformed(name)
      headers[name] = value
    } else if (sender.headers.includes(name)) {
      const other = findOtherSender(
        (each) => onlyValue(request.header(each)) !== undefined && !sender.headers.includes(each),
      )
      return new Rejection('signature_missing', [`There is no ${name} header.`, other].filter(Boolean).join(' '))
    }
  }
  const refuse = (why: string, code: RejectionCode = 'signature_malformed') =>
    new Rejection(code, `readHead() of ${sender.name} ${why}`)
  const { watched, findStray } = watchHeaders(sender, headers)
  try {
    const signed = mustBeNow(sender, 'readHead', sender.readHead(watched))
    const wrong = signed == null ? undefined : findWrong(signed)
    if (signed == null || wrong !== undefined) {
      const why = findStray() ?? wrong
      return why === undefined ? malformed(sender.headers.join(' or ')) : refuse(why)
    }
    const { signedAt = receivedAt, before, after } = signed
    const { toleranceMs = 0 } = sender
    const stray = [before, after].some((text = '') => LOST.test(text)) ? findStray() : undefined
    if (stray !== undefined) return refuse(stray)
    if (signed.signedAt !== undefined && toleranceMs === 0)
      return malformed(signature, ': signedAt needs a toleranceMs')
    if (toleranceMs > 0 && !('signedAt' in signed)) return refuse(NO_TIME)
    if (Math.abs(receivedAt - signedAt) <= toleranceMs) return { headers, signed, receivedAt }
    const unit = findUnit(signedAt, receivedAt)
    if (unit !== undefined)
      return refuse(`returned ${show(signedAt)} as signedAt, ${unit}${IN_MILLISECONDS}`, 'signature_expired')
    const [signedTime, time] = [signedAt, receivedAt].map((ms) => new Date(ms).toISOString())
    return new Rejection(
      'signature_expired',
      `Signed at ${signedTime}, received at ${time}, more than ${toleranceMs} ms apart: a replay, or a clock is wrong.`,
    )
  } catch (cause) {
    const stray = findStray()
    return stray === undefined ? malformed(signature, `: ${reasonOf(cause)}`) : refuse(stray)
  }
}

/** Texts that values become which are missing, or no text. Bounded: it reads headers before their signature is checked. */
const LOST =
  /(?<![\p{L}\p{N}])(undefined|null|NaN|Invalid Date)(?![\p{L}\p{N}])|\[object \w{1,40}\]|=>|\bfunction\b[^{]{0,100}\{/u
const LOST_FIX = 'a field that it reads is missing, or has another form. Return undefined for a body that is no event.'
const NO_TIME =
  'returned no signedAt, and the sender has a toleranceMs: one needs the other. If an attempt has no signed time, return signedAt: undefined.'

/** Returns true for a text that a missing value became. The event itself may well have such a word in it. */
function isLost(text: string, json: string, headers: Readonly<Record<string, string | undefined>>): boolean {
  const lost = LOST.exec(text)?.[0]
  if (lost === undefined) return false
  const came = [json.replace(/[:,[]\s*null(?=\s*[,}\]])/g, ''), ...Object.values(headers)]
  return !came.some((each) => each?.includes(lost))
}

const IN_MILLISECONDS = 'Return milliseconds since 1970, as unixSeconds() does.'
/** Units that times are written in, and the milliseconds in one. */
const UNITS = { seconds: 1_000, microseconds: 1e-3, nanoseconds: 1e-6 }
const DAY_MS = 86_400_000

/** Says what a time is that is not in milliseconds. */
function findUnit(signedAt: number, receivedAt: number): string | undefined {
  const [unit] = Object.entries(UNITS).find(([, ms]) => Math.abs(receivedAt - signedAt * ms) < DAY_MS) ?? []
  if (unit !== undefined) return `which are ${unit}. `
  return Number.isNaN(new Date(Number(signedAt)).getTime()) ? 'which is no time. ' : undefined
}

/** Finds what a sender may not return, and says how it is mended. */
function findWrong({ digests, before = '', after = '' }: SignedHead): string | undefined {
  if (!Array.isArray(digests)) return `returned no list of digests. ${AS_DIGESTS}`
  if (digests.length === 0) return `found no digest. ${AS_DIGESTS}`
  if (digests.length > MOST_DIGESTS) return `returned more than ${MOST_DIGESTS} digests.`
  for (const digest of digests as readonly unknown[]) {
    // Text came with the request, and is not repeated.
    if (!isBytes(digest))
      return `returned ${typeof digest === 'string' ? 'text' : show(digest)} as a digest. ${AS_DIGESTS}`
    if (digest.length !== DIGEST_BYTES) return `returned a digest of ${digest.length} bytes. ${AS_DIGESTS}`
  }
  if ([before, after].some((text) => typeof text !== 'string')) return 'returned as before or after what is no text.'
  return undefined
}

const AS_DIGESTS = `A sender returns { digests }, a list of ${DIGEST_BYTES} bytes each, which hexDigest() and base64Digest() read from text.`

/** Returns headers for a method of a sender, and a function that finds one which it read by a name under which there is none. */
function watchHeaders({ headers, optionalHeaders = [] }: Sender<unknown>, given: SenderHeaders) {
  const known: readonly unknown[] = [...headers, ...optionalHeaders]
  let stray: string | undefined
  const watched = new Proxy(given, {
    get(target, name) {
      if (typeof name === 'string' && !known.includes(name)) stray ??= name
      return Reflect.get(target, name)
    },
  })
  const findStray = () => {
    if (stray === undefined) return undefined
    const fix = known.includes(stray.toLowerCase())
      ? `give its name in lower case, headers['${stray.toLowerCase()}'].`
      : 'name it in the headers or the optionalHeaders of the sender.'
    return `reads the header "${stray}", which it does not get: ${fix}`
  }
  return { watched, findStray }
}

function matchesDigest(body: Uint8Array, { signed }: SenderHead, key: KeyObject): boolean {
  const { before = '', after = '', digests } = signed
  const computed = createHmac('sha256', key).update(before).update(body).update(after).digest()
  let matched = false
  for (const digest of digests) matched = timingSafeEqual(computed, digest) || matched
  return matched
}

function parseEvent(
  sender: Sender<unknown>,
  body: Uint8Array,
  { headers, signed, receivedAt }: SenderHead,
): Envelope | Rejection {
  const refuse = (why: string, code: RejectionCode = 'invalid_envelope') =>
    new Rejection(code, `The body is signed, but is no event of ${sender.name}: ${why}`)
  const parsed = parseJson(body)
  if (parsed instanceof Rejection)
    return parsed.code === 'invalid_json'
      ? refuse('it is not JSON. Set the content type application/json there.', parsed.code)
      : parsed
  const { value: data, text } = parsed
  if (!isObject(data)) return refuse('it is not an object.')
  const digest = () => createHash('sha256').update(body).digest('hex')
  const facts = { signedAt: signed.signedAt, receivedAt, digest }
  const { watched, findStray } = watchHeaders(sender, headers)
  const names = mustBeNow(sender, 'nameEvent', sender.nameEvent(data, watched, facts))
  const explain = (why: string) => {
    const stray = findStray()
    return stray === undefined ? why : `${why} nameEvent() ${stray}`
  }
  if (names == null) return refuse(explain('its type or id is missing.'))
  const { id, type, timestamp, accountKey } = names
  // A mistake in nameEvent is the owner's: a sender may give up an event that is refused.
  const wrong = Object.entries({ id, type, timestamp, accountKey }).find(([, value]) => typeof value !== 'string')
  ignoreRejection(wrong?.[1])
  if (wrong !== undefined) {
    const why = `nameEvent() of ${sender.name} returned ${show(wrong[1])} as ${wrong[0]}.`
    throw new TypeError(wrong[1] === undefined ? explain(why) : why)
  }
  const event = checkEnvelope({ id, type, timestamp, accountKey, data })
  if (event instanceof Rejection) return refuse(event.reason)
  for (const [name, value] of Object.entries({ id, type, timestamp, accountKey }))
    if (isLost(value, text, headers))
      throw new TypeError(explain(`nameEvent() of ${sender.name} returned ${show(value)} as ${name}: ${LOST_FIX}`))
  return { event, text: `${JSON.stringify({ id, type, timestamp, accountKey }).slice(0, -1)}${DATA}${text}}` }
}
