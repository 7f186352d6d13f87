import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { ConfigurationError } from './errors.ts'

/** A signing secret as the service gave it: text, or the exact bytes. */
export type Secret = string | Uint8Array

/** What HTTP libraries give for one header: its value, several values, or nothing. */
export type HeaderValue = string | readonly string[] | null | undefined

/** The header that carries the signature, in lower case. Service text, section 5. */
export const SIGNATURE_HEADER = 'x-service-signature'

const PREFIX = 'sha256='
const WELL_FORMED = /^sha256=[0-9a-fA-F]{64}$/

/**
 * Signs a body as the service does: HMAC-SHA256 over its bytes, in lower-case hexadecimal, behind `sha256=`.
 *
 * @param body the exact bytes, or text, which is signed as UTF-8
 * @param secret the webhook's signing secret
 * @returns the value of the `X-Service-Signature` header
 * @throws ConfigurationError `secret_unusable`
 */
export function sign(body: Uint8Array | string, secret: Secret): string {
  return PREFIX + createHmac('sha256', importSecret(secret)).update(body).digest('hex')
}

/**
 * The bare check, for those who need nothing else: was this body signed with one of these secrets? Digests are compared in
 * constant time, and every secret is tried.
 *
 * Give it the bytes as they came in. Text is for what was text from the start: a body that was decoded on the way may verify
 * though its bytes differ (a dropped BOM, an invalid byte replaced by U+FFFD).
 *
 * @param header the value of `X-Service-Signature`: exactly one, `sha256=` and 64 hexadecimal digits in either case
 * @param secrets one secret or several, such as the old and the new one during a rotation
 * @throws ConfigurationError `secret_unusable`
 */
export function verify(body: Uint8Array | string, header: HeaderValue, secrets: Secret | readonly Secret[]): boolean {
  const keys = isList(secrets) ? secrets.map(importSecret) : [importSecret(secrets)]
  if (keys.length === 0)
    throw new ConfigurationError('secret_unusable', 'The list of secrets is empty: no signature can be checked.')
  const signature = onlyValue(header)
  if (signature === undefined || !isWellFormed(signature)) return false
  let matched = false
  for (const key of keys) matched = matchesKey(body, signature, key) || matched
  return matched
}

/** The value of a header that must be there exactly once: undefined when it is missing, and nothing that could be right for several. */
export function onlyValue(header: HeaderValue): string | undefined {
  if (typeof header === 'string') return header
  if (header == null || header.length === 0) return undefined
  return header.length === 1 ? header[0] : ''
}

/** Whether this can be a signature at all. */
export function isWellFormed(signature: string): boolean {
  return WELL_FORMED.test(signature)
}

// Both digests are decoded into these; nothing is awaited between writing and comparing them.
const presented = Buffer.alloc(32)
const computed = Buffer.alloc(32)

/** Compares a well-formed signature with the digest of the body under one key, in constant time. */
export function matchesKey(body: Uint8Array | string, signature: string, key: KeyObject): boolean {
  const digest = createHmac('sha256', key).update(body).digest('binary')
  computed.write(digest, 'latin1')
  presented.write(signature.slice(PREFIX.length), 'hex')
  return timingSafeEqual(computed, presented)
}

/**
 * Makes a key of a secret, and refuses one that cannot have come from the service: missing, empty, or text with a blank or a
 * line break at an edge, which is what reading it from a file or pasting it into an environment leaves behind.
 */
export function importSecret(secret: unknown): KeyObject {
  if (typeof secret === 'string') {
    if (secret.trim() === '') throw unusable(secret === '' ? 'is an empty string' : 'is blank')
    if (secret.trim() !== secret) throw unusable('has a blank or a line break at an edge; trim it')
    return createSecretKey(secret, 'utf8')
  }
  if (secret instanceof Uint8Array) {
    if (secret.length === 0) throw unusable('is empty')
    if (isBlankEdgedText(secret))
      throw unusable('has a blank or a line break at an edge, as a file often ends with one; trim it')
    return createSecretKey(secret)
  }
  throw unusable(
    secret === undefined
      ? 'is undefined; is the environment variable set, and is the env file loaded?'
      : `is ${secret === null ? 'null' : `of type ${typeof secret}`}; give text or bytes`,
  )
}

function unusable(what: string): ConfigurationError {
  return new ConfigurationError(
    'secret_unusable',
    `The signing secret ${what}. The service shows it once, in the answer that registers the webhook.`,
  )
}

/** Random key bytes may begin or end with any byte; only what is text as a whole has edges that were not meant. */
function isBlankEdgedText(bytes: Uint8Array): boolean {
  const isBlank = (byte: number | undefined) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
  return (
    (isBlank(bytes[0]) || isBlank(bytes[bytes.length - 1])) &&
    bytes.every((byte) => isBlank(byte) || (byte > 0x20 && byte < 0x7f))
  )
}

function isList(secrets: Secret | readonly Secret[]): secrets is readonly Secret[] {
  return Array.isArray(secrets)
}
