import { Rejection } from './outcome.ts'
import { type HeaderValue, isWellFormed, onlyValue, SIGNATURE_HEADER } from './signature.ts'

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
const TOO_LARGE = new Rejection('body_too_large', 'The declared length is over maxBodyBytes.')
const NO_SIGNATURE = new Rejection('signature_missing', 'There is no X-Service-Signature header.')
const BAD_SIGNATURE = new Rejection(
  'signature_malformed',
  'X-Service-Signature is not exactly one value of "sha256=" and 64 hexadecimal digits.',
)

/** Refuses a request by its head: method, encoding, declared length, form of the signature header. */
export function checkHead(head: RequestHead, maxBodyBytes: number): Rejection | undefined {
  if (head.method !== undefined && head.method !== 'POST') return NOT_POST
  const encoding = head.header('content-encoding')
  if (encoding != null && !isIdentity(encoding)) return ENCODED
  const length = declaredLength(head)
  if (length !== undefined && length > maxBodyBytes) return TOO_LARGE
  return checkSignatureForm(head.header(SIGNATURE_HEADER))
}

/** Refuses a signature header that is malformed. */
export function checkSignatureForm(header: HeaderValue): Rejection | undefined {
  const signature = onlyValue(header)
  if (signature === undefined) return NO_SIGNATURE
  return isWellFormed(signature) ? undefined : BAD_SIGNATURE
}

/** Returns the declared length of the body in bytes; undefined if there is none, or it is no number. */
export function declaredLength(head: RequestHead): number | undefined {
  const value = head.header('content-length')
  return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : undefined
}

function isIdentity(encoding: HeaderValue): boolean {
  return typeof encoding === 'string' && (encoding === '' || encoding.toLowerCase() === 'identity')
}
