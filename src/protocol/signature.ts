import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { ConfigurationError, PosternError } from './errors.ts'
import { isBytes, tellBytes } from './is-bytes.ts'
import { parseJson } from './parse-json.ts'
import { ignoreRejection, isThenable } from './promises.ts'
import { show } from './show.ts'

/** A signing secret as the service gave it: text, or the exact bytes. */
export type Secret = string | Uint8Array

/** One header as HTTP libraries return it: its value, several values, or nothing. */
export type HeaderValue = string | readonly string[] | null | undefined

/** Names the source of the signing secret of the CRM service. */
export const SECRET_HINT = 'The service shows it once, in the answer that registers the webhook.'

const PREFIX = 'sha256='
const WELL_FORMED_LENGTH = PREFIX.length + 64

/**
 * Signs a body as the service does: HMAC-SHA256 over its bytes, in lower-case hexadecimal, behind `sha256=`.
 *
 * @param body the exact bytes, or text, which is signed as UTF-8
 * @param secret the webhook's signing secret
 * @returns the value of the `X-Service-Signature` header
 * @throws ConfigurationError `secret_unusable`; PosternError `body_consumed` if the body is neither bytes nor text
 */
export function sign(body: Uint8Array | string, secret: Secret): string {
  mustBeRaw(body)
  return PREFIX + createHmac('sha256', importSecret(secret)).update(body).digest('hex')
}

/**
 * Returns true if a body was signed with one of these secrets. Digests are compared in constant time, and every secret is tried.
 *
 * Pass the bytes as they came in. Text is for what was text from the start: a body that was decoded on the way may verify
 * though its bytes differ (a dropped BOM, an invalid byte replaced by U+FFFD).
 *
 * @param header the value of `X-Service-Signature`: exactly one, `sha256=` and 64 hexadecimal digits in either case
 * @param secrets one secret or several, such as the old and the new one during a rotation
 * @throws ConfigurationError `secret_unusable`, `option_invalid` for a header that is neither text nor a list; PosternError `body_consumed`
 * if the body is neither bytes nor text
 */
export function verify(body: Uint8Array | string, header: HeaderValue, secrets: Secret | readonly Secret[]): boolean
export function verify(
  body: Uint8Array | string,
  header: HeaderValue,
  secrets: Secret | readonly Secret[],
  next?: unknown,
): boolean {
  mustBeRaw(body)
  mustBeHeader(header)
  mustEndWithSecrets(next)
  const keys = importAll(isList(secrets) ? secrets : [secrets], importSecret)
  if (keys.length === 0)
    throw new ConfigurationError('secret_unusable', 'The list of secrets is empty: no signature can be checked.')
  const signature = onlyValue(header)
  if (signature === undefined || !isWellFormed(signature)) return false
  let matched = false
  for (const key of keys) matched = matchesKey(body, signature, key) || matched
  return matched
}

/** @throws ConfigurationError `option_invalid` if an app passed a second secret, or a tolerance, behind the secrets */
export function mustEndWithSecrets(next: unknown): void {
  if (next === undefined) return
  throw new ConfigurationError(
    'option_invalid',
    'There is an argument behind the secrets: several of them are one list, and no time is judged.',
  )
}

/** @throws ConfigurationError `option_invalid` if an app passed something else than the value of a header */
export function mustBeHeader(header: unknown): void {
  if (header == null || typeof header === 'string' || Array.isArray(header)) return
  ignoreRejection(header)
  throw new ConfigurationError(
    'option_invalid',
    `The header is ${show(header)}; give the value of the signature header, such as headers.get('X-Service-Signature').`,
  )
}

/** Returns the value of a header that must occur once: undefined if it is missing, and an empty text if it occurs several times. */
export function onlyValue(header: HeaderValue): string | undefined {
  if (typeof header === 'string') return header
  if (header == null || header.length === 0) return undefined
  return header.length === 1 && typeof header[0] === 'string' ? header[0] : ''
}

/** Returns true if a text has the form of a signature. */
export function isWellFormed(signature: string): boolean {
  if (signature.length !== WELL_FORMED_LENGTH || !signature.startsWith(PREFIX)) return false
  // A table takes half the time of a regular expression. The decoder of buffers would read U+0130 as 0.
  for (let index = PREFIX.length; index < WELL_FORMED_LENGTH; index++)
    if (DIGITS[signature.charCodeAt(index)] !== 1) return false
  return true
}

/** 1 at the code of each hexadecimal digit, in either case. */
const DIGITS = new Uint8Array(0x100)
for (const digit of '0123456789abcdefABCDEF') DIGITS[digit.charCodeAt(0)] = 1

// Reused for each comparison, which is synchronous.
const presented = Buffer.alloc(32)
const computed = Buffer.alloc(32)

/** Compares a signature with the digest of the body under one key, in constant time. */
export function matchesKey(body: Uint8Array | string, signature: string, key: KeyObject): boolean {
  const digest = createHmac('sha256', key).update(body).digest('binary')
  computed.write(digest, 'latin1')
  // A malformed signature must not leave the digest of an earlier one in the buffer.
  if (presented.write(signature.slice(PREFIX.length), 'hex') !== presented.length) return false
  return timingSafeEqual(computed, presented)
}

/** Imports a secret, and refuses one that cannot come from the service: missing, empty, in quotes, or with a blank edge, as files may leave it. */
export function importSecret(secret: unknown, hint = SECRET_HINT): KeyObject {
  const unusable = (what: string) => new ConfigurationError('secret_unusable', `The signing secret ${what}. ${hint}`)
  if (typeof secret === 'string') {
    if (secret.trim() === '') throw unusable(secret === '' ? 'is an empty string' : 'is blank')
    if (secret.trim() !== secret) throw unusable('has a blank or a line break at an edge; trim it')
    if (isWellFormed(secret)) throw unusable('is a signature: the header and the secret are swapped')
    const mistake = findMistake(secret)
    if (mistake !== undefined) throw unusable(mistake)
    return createSecretKey(secret, 'utf8')
  }
  if (isBytes(secret)) {
    if (secret.length === 0) throw unusable('is empty')
    if (isBlankEdgedText(secret))
      throw unusable('has a blank or a line break at an edge, as a file often ends with one; trim it')
    const mistake = WRITTEN_BYTES.includes(secret[0]) ? findMistakeIn(secret) : undefined
    if (mistake !== undefined) throw unusable(mistake)
    return createSecretKey(secret)
  }
  if (isThenable(secret)) {
    ignoreRejection(secret)
    throw unusable('is a promise: await it, or give the receiver the function itself')
  }
  throw unusable(
    secret === undefined
      ? 'is undefined: set the environment variable that it is read from, or load the env file that sets it'
      : `is ${secret === null ? 'null' : `of type ${typeof secret}${tagOf(secret)}`}; give text or bytes${tellBytes(secret, 'secret')}`,
  )
}

/** Returns the kind of an object in parentheses: a key, for example, is no secret. */
function tagOf(value: unknown): string {
  return typeof value === 'object' ? ` (${Object.prototype.toString.call(value).slice(8, -1)})` : ''
}

/** Mistakes of files, shells and templates, by the text that they leave. */
const MISTAKES: readonly (readonly [RegExp, string])[] = [
  [/^(["'`]).*\1$|^[“‘«„].*[”’»“]$/s, 'is in quotes, which belong to the file that it was read from; remove them'],
  [
    /[$#]\{\w[^}]*\}|\{\{.*\}\}|^\$\(.*\)$|^\$?[A-Z][A-Z\d_]*_(SECRET|KEY|TOKEN)$|^\$[A-Z_][A-Z\d_]*$|^%\w+%$|^<.+>$|^process\.env\b|^@\w[\w.]*\(.*\)$/s,
    'is, or has in it, the name of a variable that nothing replaced by its value',
  ],
  [/^(undefined|null|NaN|true|false|\[object \w+\])$/, 'is a value that became text: what it was read from is not set'],
  [/^[A-Z][A-Z\d_]*SECRET[A-Z\d_]*=./, 'is a whole line of an env file; give what is behind the equals sign'],
  [/\*{4}|…|\.{3}$/, 'is masked or cut off; give the whole'],
  [/^[a-z][\w+.-]*:\/\/|^arn:|^\/(run|etc|var|mnt|secrets)\//, 'is the place of a secret; give what is stored there'],
  [/^-----BEGIN /, 'is a key or a certificate in PEM; give the text that signs the webhooks'],
  [/^\S{8,}\s+#/, 'has a comment behind it; remove it'],
  [/^(Bearer|Basic) /, 'is the value of a header; give the secret alone'],
  [
    /^[^\s,;]{8,}(\s*[,;\n]\s*[^\s,;]{8,})+$|^whsec_\S+(\s+whsec_\S+)+$/,
    'is a list in one text; split it, or give its bytes if the separator belongs to it',
  ],
]

/** First bytes of text in quotes, and of JSON. */
const WRITTEN_BYTES: readonly unknown[] = [0x22, 0x27, 0x60, 0x5b, 0x7b]

function isJson(text: string): boolean {
  return /^[[{]/.test(text) && parseJson(text) !== undefined
}

/** Returns the mistake of bytes that are text in quotes, or JSON. Random bytes may begin as either does. */
function findMistakeIn(secret: Uint8Array): string | undefined {
  const text = Buffer.from(secret).toString()
  return /^["'\x60][\x20-\x7e]*$/.test(text) || isJson(text) ? findMistake(text) : undefined
}

function findMistake(secret: string): string | undefined {
  if (isJson(secret))
    return 'is JSON; parse it, and give the secret, or a list of secrets. If it is a body, body and secret are swapped'
  return MISTAKES.find(([pattern]) => pattern.test(secret))?.[1]
}

/**
 * Returns a function that imports secrets with a cache of the keys of text: importing one costs as much as using it.
 *
 * @param most the number of keys to keep; beyond it, all are dropped
 */
export function cacheKeys(
  most: number,
  importOne: (secret: unknown) => KeyObject = importSecret,
): (secret: unknown) => KeyObject {
  const keys = new Map<string, KeyObject>()
  return (secret) => {
    if (typeof secret !== 'string') return importOne(secret)
    const known = keys.get(secret)
    if (known !== undefined) return known
    const key = importOne(secret)
    if (keys.size === most) keys.clear()
    keys.set(secret, key)
    return key
  }
}

/** Imports each secret of a list. If one is a promise, all are refused, and no rejection may end the process: any request could cause it. */
export function importAll<S, T>(secrets: readonly S[], importOne: (secret: S) => T): readonly T[] {
  try {
    const imported: T[] = []
    for (const secret of secrets) imported.push(importOne(secret)) // holes as well
    return imported
  } catch (error) {
    for (const secret of secrets) for (const part of [secret, ...Object.values(Object(secret))]) ignoreRejection(part)
    throw error
  }
}

const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Bytes at a blank edge of text: tab, line feed, carriage return, space, and the first byte of a byte order mark. */
const EDGE_BYTES: readonly unknown[] = [0x09, 0x0a, 0x0d, 0x20, 0xef]

/** Returns true for text with a blank edge. Random bytes may begin or end with any byte. */
function isBlankEdgedText(bytes: Uint8Array): boolean {
  if (!EDGE_BYTES.includes(bytes[0]) && !EDGE_BYTES.includes(bytes[bytes.length - 1])) return false
  try {
    const text = strictDecoder.decode(bytes)
    const inner = text.trim()
    return inner !== text && !/\p{Cc}/u.test(inner)
  } catch {
    return false
  }
}

/** @throws PosternError `body_consumed` if a body is neither bytes nor text */
export function mustBeRaw(body: unknown): void {
  const text =
    ArrayBuffer.isView(body) && body.byteLength === WELL_FORMED_LENGTH
      ? Buffer.from(body as Uint8Array).toString()
      : body
  if (typeof text === 'string' && isWellFormed(text))
    throw new PosternError('body_consumed', 'The body is a signature: the body and the header are swapped.')
  if (typeof body === 'string' || ArrayBuffer.isView(body)) return
  throw new PosternError(
    'body_consumed',
    `A signature covers the exact bytes of the body: give the Uint8Array or Buffer that was received, not the output of a JSON parser${tellBytes(body, 'body')}.`,
  )
}

function isList(secrets: Secret | readonly Secret[]): secrets is readonly Secret[] {
  return Array.isArray(secrets)
}
