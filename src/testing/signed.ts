import { createHmac } from 'node:crypto'
import type { WebhookEvent } from '../protocol/events.ts'
import { type Secret, SIGNATURE_HEADER, sign } from '../protocol/signature.ts'

/** How the JSON is written. The service's own writing is not documented, so a receiver has to take all of them. */
export type BodyFormat = 'compact' | 'spaced' | 'pretty' | 'escaped'

/** What is wrong with the delivery: each spoils one thing only. */
export type Tamper =
  | 'none'
  /** One bit of the body is flipped after signing. */
  | 'flip-bit'
  /** Signed with a secret that is not the receiver's. */
  | 'other-secret'
  | 'no-header'
  /** The digest without `sha256=`. */
  | 'no-prefix'
  /** `sha1=` and an HMAC-SHA1. */
  | 'sha1'
  /** The last two digits are missing. */
  | 'short'
  /** Two digits too many. */
  | 'long'
  | 'non-hex'
  /** The signature is over the same JSON, written another way. */
  | 'reserialised'

export interface SignedOptions {
  readonly secret: Secret
  /** Default `spaced`, which a receiver that signs JSON.stringify(parsed) fails on. */
  readonly format?: BodyFormat
  /** Default `none`. */
  readonly tamper?: Tamper
}

/** Bytes and headers of one delivery, which belong together. */
export interface SignedDelivery {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly headers: Readonly<Record<string, string>>
  /** The value of `X-Service-Signature`; undefined for `no-header`. */
  readonly signature: string | undefined
  /** The same as a Fetch request. */
  request(url?: string): Request
}

/**
 * A delivery as the service sends it, or with one thing wrong.
 *
 * @param event an event of a builder, or raw text or bytes that are to be signed as they are
 * @example const { bytes, headers } = signed(events.contact.created(), { secret })
 */
export function signed(
  event: WebhookEvent<string, unknown> | string | Uint8Array,
  { secret, format = 'spaced', tamper = 'none' }: SignedOptions,
): SignedDelivery {
  const body = toBytes(event, format)
  const signature = tamperedSignature(body, event, secret, tamper)
  const bytes = tamper === 'flip-bit' ? flipBit(body) : body
  const headers = {
    'content-type': 'application/json',
    ...(signature !== undefined && { [SIGNATURE_HEADER]: signature }),
  }
  return {
    bytes,
    headers,
    signature,
    request: (url = 'http://localhost/webhooks') => new Request(url, { method: 'POST', headers, body: bytes }),
  }
}

function toBytes(
  event: WebhookEvent<string, unknown> | string | Uint8Array,
  format: BodyFormat,
): Uint8Array<ArrayBuffer> {
  return new Uint8Array(
    Buffer.from(event instanceof Uint8Array ? event : typeof event === 'string' ? event : formatJson(event, format)),
  )
}

function formatJson(value: unknown, format: BodyFormat): string {
  const compact = JSON.stringify(value)
  switch (format) {
    case 'compact':
      return compact
    case 'pretty':
      return `${JSON.stringify(value, null, 2)}\n`
    case 'spaced':
      // A string is taken whole, so that only the colons and commas between values are widened.
      return compact.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|[:,]/g, (token) => (token.length === 1 ? `${token} ` : token))
    case 'escaped':
      return compact
        .replace(/\//g, '\\/')
        .replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  }
}

function tamperedSignature(
  body: Uint8Array,
  event: WebhookEvent<string, unknown> | string | Uint8Array,
  secret: Secret,
  tamper: Tamper,
): string | undefined {
  const right = sign(body, secret)
  switch (tamper) {
    case 'none':
    case 'flip-bit':
      return right
    case 'no-header':
      return undefined
    case 'other-secret':
      return sign(body, 'a secret that the receiver does not have')
    case 'no-prefix':
      return right.slice('sha256='.length)
    case 'sha1':
      return `sha1=${createHmac('sha1', secret).update(body).digest('hex')}`
    case 'short':
      return right.slice(0, -2)
    case 'long':
      return `${right}00`
    case 'non-hex':
      return `${right.slice(0, -1)}g`
    case 'reserialised':
      if (typeof event === 'string' || event instanceof Uint8Array)
        throw new TypeError(
          'The tamper "reserialised" needs an event: raw text or bytes have no other way to be written.',
        )
      // As JSON.stringify(JSON.parse(body)) writes it, or otherwise where that is what was sent.
      return sign(formatJson(event, isCompact(body, event) ? 'pretty' : 'compact'), secret)
  }
}

function isCompact(body: Uint8Array, event: WebhookEvent<string, unknown>): boolean {
  return Buffer.from(formatJson(event, 'compact')).equals(body)
}

function flipBit(body: Uint8Array): Uint8Array<ArrayBuffer> {
  if (body.length === 0) throw new TypeError('The tamper "flip-bit" needs a body: an empty one has no bit to flip.')
  const flipped = new Uint8Array(body)
  const middle = flipped.length >> 1
  flipped[middle] = (flipped[middle] ?? 0) ^ 1
  return flipped
}
