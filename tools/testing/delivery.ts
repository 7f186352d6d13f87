import { isBytes } from '../../src/protocol/is-bytes.ts'
import { ANY, HTTP_URL, type Kind, OptionChecker, oneOf, SEED } from '../../src/protocol/option-checker.ts'
import type { Secret } from '../../src/protocol/signature.ts'
import { BODY_FORMATS, type BodyFormat, formatJson } from '../wire/json-forms.ts'

/** Options of every signed delivery: the secret, and the form of the JSON. */
export interface DeliveryOptions {
  /** Signing secret of the receiver. */
  readonly secret: Secret
  /** Format of the JSON. Default `spaced`, on which a receiver that signs JSON.stringify(parsed) fails. */
  readonly format?: BodyFormat | undefined
  /** Seed for the format `random`: each seed formats the same event differently. Default: derived from the event. */
  readonly seed?: string | number | undefined
}

/** Kinds of these options. The secret is checked when it signs. */
export const DELIVERY_OPTIONS: Readonly<Record<keyof DeliveryOptions, Kind>> = {
  secret: ANY,
  format: oneOf(BODY_FORMATS),
  seed: SEED,
}

/** One delivery: an argument of `receiver.receive`, and of each HTTP client. */
export interface SignedDelivery {
  readonly body: Uint8Array<ArrayBuffer>
  readonly headers: Readonly<Record<string, string>>
  /** Value of the signature header; undefined for `no-header`, and both values joined by a comma for `two-headers`. */
  readonly signature: string | undefined
  /** Makes a Fetch request of the delivery. */
  request(url?: string): Request
}

export function makeDelivery(
  bytes: Uint8Array<ArrayBuffer>,
  signedHeaders: Readonly<Record<string, string>>,
  signature: string | undefined,
): SignedDelivery {
  const body = Buffer.from(bytes.buffer) // test clients send any other array as JSON
  const headers = { 'content-type': 'application/json', ...signedHeaders }
  return {
    body,
    headers,
    signature,
    request(url = 'http://localhost/webhooks', next?: unknown) {
      const check = new OptionChecker('signed().request')
      check.mustBe('url', url, HTTP_URL)
      check.mustEnd(next)
      return new Request(url, { method: 'POST', headers, body })
    },
  }
}

/** Returns true for text and bytes, which are sent as they are. */
export function isRaw(value: unknown): value is string | Uint8Array {
  return typeof value === 'string' || isBytes(value)
}

export function toBytes(value: unknown, { format = 'spaced', seed }: Omit<DeliveryOptions, 'secret'>) {
  return new Uint8Array(Buffer.from(isRaw(value) ? value : formatJson(value, format, seed)))
}

/**
 * Returns the same JSON in another format: that of JSON.stringify(JSON.parse(body)), or another one if the body has that format already.
 *
 * @throws ConfigurationError `option_invalid` for text and bytes
 */
export function reserialise(value: unknown, body: Uint8Array): Uint8Array<ArrayBuffer> {
  if (isRaw(value))
    throw new OptionChecker('signed').invalid(
      'the tamper "reserialised" needs an event: raw text or bytes have no other way to be written.',
    )
  const compact = toBytes(value, { format: 'compact' })
  return Buffer.from(compact).equals(body) ? toBytes(value, { format: 'pretty' }) : compact
}
