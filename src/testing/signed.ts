import type { WebhookEvent } from '../protocol/events.ts'
import { show } from '../protocol/show.ts'
import { type Secret, SIGNATURE_HEADER, sign } from '../protocol/signature.ts'
import { BODY_FORMATS, type BodyFormat, formatJson } from '../wire/json-forms.ts'
import { flipBit, spoilSignature } from '../wire/spoil.ts'

const TAMPERS = [
  'none',
  /** One bit of the body is flipped after signing. */
  'flip-bit',
  /** Signed with a secret that is not the receiver's. */
  'other-secret',
  'no-header',
  /** The digest without `sha256=`. */
  'no-prefix',
  /** `sha1=` and an HMAC-SHA1. */
  'sha1',
  /** The last two digits are missing. */
  'short',
  /** Two digits too many. */
  'long',
  'non-hex',
  /** The signature is over the same JSON, written another way. */
  'reserialised',
  /** The header is there twice: the right signature, then one by another secret. */
  'two-headers',
] as const

/** What is wrong with the delivery: each spoils one thing only. */
export type Tamper = (typeof TAMPERS)[number]

export interface SignedOptions {
  readonly secret: Secret
  /** Default `spaced`, which a receiver that signs JSON.stringify(parsed) fails on. */
  readonly format?: BodyFormat
  /** Default `none`. */
  readonly tamper?: Tamper
  /** For the format `random`: another seed writes the same event in another way. Default: by the event. */
  readonly seed?: string | number
}

/** Bytes and headers of one delivery, which belong together. */
export interface SignedDelivery {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly headers: Readonly<Record<string, string>>
  /** The value of `X-Service-Signature`; undefined for `no-header`, and both values with a comma between them for `two-headers`. */
  readonly signature: string | undefined
  /** The same as a Fetch request. */
  request(url?: string): Request
}

/** An event of a builder, or raw text or bytes that are to be sent as they are. */
export type Sendable = WebhookEvent<string, unknown> | string | Uint8Array

/**
 * A delivery as the service sends it, or with one thing wrong.
 *
 * @param event an event of a builder, or raw text or bytes that are to be signed as they are
 * @example const { bytes, headers } = signed(events.contact.created(), { secret })
 */
export function signed(
  event: Sendable,
  // Plain JavaScript may leave the options out; the secret is then refused.
  { secret, format = 'spaced', tamper = 'none', seed }: SignedOptions = {} as SignedOptions,
): SignedDelivery {
  if (!TAMPERS.includes(tamper))
    throw new TypeError(`There is no tamper ${JSON.stringify(tamper)}. There are ${TAMPERS.join(', ')}.`)
  if (!BODY_FORMATS.includes(format))
    throw new TypeError(`There is no format ${JSON.stringify(format)}. There are ${BODY_FORMATS.join(', ')}.`)
  if (!isSendable(event))
    throw new TypeError(
      `An event, text or bytes can be signed, not ${show(event)}: events.contact.created() makes one. What is no event, give as text.`,
    )
  const body = toBytes(event, format, seed)
  const signature = tamperedSignature(body, event, secret, tamper)
  if (tamper === 'flip-bit' && body.length === 0)
    throw new TypeError('The tamper "flip-bit" needs a body: an empty one has no bit to flip.')
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

/** An event has a type; what is signed already, lists and promises have none. */
function isSendable(value: unknown): boolean {
  const isBytes = value instanceof Uint8Array
  return typeof value === 'string' || isBytes || (typeof value === 'object' && value !== null && 'type' in value)
}

function toBytes(event: Sendable, format: BodyFormat, seed: string | number | undefined): Uint8Array<ArrayBuffer> {
  const isRaw = typeof event === 'string' || event instanceof Uint8Array
  return new Uint8Array(Buffer.from(isRaw ? event : formatJson(event, format, seed)))
}

function tamperedSignature(body: Uint8Array, event: Sendable, secret: Secret, tamper: Tamper): string | undefined {
  const right = sign(body, secret)
  switch (tamper) {
    case 'none':
    case 'flip-bit':
      return right
    case 'no-header':
      return undefined
    case 'reserialised':
      if (typeof event === 'string' || event instanceof Uint8Array)
        throw new TypeError(
          'The tamper "reserialised" needs an event: raw text or bytes have no other way to be written.',
        )
      // As JSON.stringify(JSON.parse(body)) writes it, or otherwise where that is what was sent.
      return sign(formatJson(event, isCompact(body, event) ? 'pretty' : 'compact'), secret)
    default:
      return spoilSignature(tamper, body, secret).join(', ') // as HTTP joins the values of one header
  }
}

function isCompact(body: Uint8Array, event: WebhookEvent<string, unknown>): boolean {
  return Buffer.from(formatJson(event, 'compact')).equals(body)
}
