import type { Kind } from './option-checker.ts'
import { Rejection } from './outcome.ts'
import { type HeaderValue, isWellFormed, onlyValue } from './signature.ts'

/** The head of a request. */
export type RequestHead = {
  /** Undefined if the framework has chosen the route by method already. */
  readonly method?: string | undefined
  /** The value of a header by its lower-case name. */
  header(name: string): HeaderValue
}

const NOT_POST = new Rejection('method_not_allowed', 'Deliveries are POST requests.')
const ENCODED = new Rejection(
  'unsupported_encoding',
  'The body has a content encoding; the signature covers the bytes as sent, and the receiver does not decompress them.',
)
/** The name of a header. Tools write it into commands and code, so nothing in it needs quotes. */
const HEADER_NAME = /^[-.\w]{1,64}$/
/** Headers with a meaning in HTTP. Of several values of one, Node keeps only the first, or hosts answer by themselves. */
const TAKEN =
  /^(?:(?:content|if|proxy|transfer)-.*|age|authorization|connection|cookie|etag|expect|expires|from|host|last-modified|location|max-forwards|referer|retry-after|server|set-cookie|upgrade|user-agent|__proto__)$/i

/** The option `signatureHeader`. */
export const SIGNATURE_HEADER: Kind = (name) =>
  typeof name === 'string' && HEADER_NAME.test(name) && !TAKEN.test(name)
    ? undefined
    : "the name of a header that has no other meaning, such as 'X-Crm-Signature'"

/** The header that carries the signature. Its name differs between installations of the service. */
export class SignatureHeader {
  /** The name in lower case, as hosts look it up. */
  readonly key: string
  readonly #missing: Rejection
  readonly #malformed: Rejection

  /** @param name as the service writes it */
  constructor(name: string) {
    this.key = name.toLowerCase()
    this.#missing = new Rejection('signature_missing', `There is no ${name} header.`)
    this.#malformed = new Rejection(
      'signature_malformed',
      `${name} is not exactly one value of "sha256=" and 64 hexadecimal digits.`,
    )
  }

  /** Refuses a value that is missing or malformed. */
  check(value: HeaderValue): Rejection | undefined {
    const signature = onlyValue(value)
    if (signature === undefined) return this.#missing
    return isWellFormed(signature) ? undefined : this.#malformed
  }
}

/** Returns the rejection of a body over the limit, which an app may have set in another unit. */
export function toTooLarge(maxBodyBytes: number): Rejection {
  return new Rejection('body_too_large', `The body is over maxBodyBytes (${maxBodyBytes} bytes).`)
}

/** Refuses a request by its head: method, encoding, declared length. */
export function checkHead(head: RequestHead, maxBodyBytes: number): Rejection | undefined {
  if (head.method !== undefined && head.method !== 'POST') return NOT_POST
  const encoding = head.header('content-encoding')
  if (encoding != null && !isIdentity(encoding)) return ENCODED
  const length = declaredLength(head)
  return length !== undefined && length > maxBodyBytes ? toTooLarge(maxBodyBytes) : undefined
}

/** Returns the declared length of the body in bytes; undefined if there is none, or it is no number. */
export function declaredLength(head: RequestHead): number | undefined {
  const value = head.header('content-length')
  return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : undefined
}

function isIdentity(encoding: HeaderValue): boolean {
  return typeof encoding === 'string' && (encoding === '' || encoding.toLowerCase() === 'identity')
}
