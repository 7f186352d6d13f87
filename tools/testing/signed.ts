import { type ModelEvent, splitType, type WebhookEvent } from '../../src/protocol/events.ts'
import { SIGNATURE_HEADER } from '../../src/protocol/head.ts'
import { isBytes } from '../../src/protocol/is-bytes.ts'
import { ABSOLUTE_URL, ANY, type Kind, OptionChecker, oneOf, SEED } from '../../src/protocol/option-checker.ts'
import { type Secret, sign } from '../../src/protocol/signature.ts'
import { SIGNATURE_NAME } from '../../src/protocol/signature-name.ts'
import { BODY_FORMATS, type BodyFormat, formatJson } from '../wire/json-forms.ts'
import { flipBit, SIGNATURE_FAULTS, type SignatureFault, spoilSignature } from '../wire/signature-mistakes.ts'

/** Ways to spoil a delivery, each in one thing. `flip-bit` changes the body after it is signed, `reserialised` signs the same JSON in another format. */
export type Tamper = 'none' | 'flip-bit' | 'reserialised' | 'no-header' | SignatureFault

/** Options of `signed`: the secret, the form of the JSON, and the way to spoil the delivery. */
export interface SignedOptions {
  /** Signing secret of the receiver. */
  readonly secret: Secret
  /** Format of the JSON. Default `spaced`, on which a receiver that signs JSON.stringify(parsed) fails. */
  readonly format?: BodyFormat | undefined
  /** Way to spoil the delivery. Default `none`. */
  readonly tamper?: Tamper | undefined
  /** Name of the signature header. Default `X-Service-Signature`. */
  readonly signatureHeader?: string | undefined
  /** Seed for the format `random`: each seed formats the same event differently. Default: derived from the event. */
  readonly seed?: string | number | undefined
}

/** Kinds of the options of `signed`. The secret is checked when it signs. */
export const SIGNED_OPTIONS: Readonly<Record<keyof SignedOptions, Kind>> = {
  secret: ANY,
  format: oneOf(BODY_FORMATS),
  tamper: oneOf(['none', 'flip-bit', 'reserialised', 'no-header', ...SIGNATURE_FAULTS]),
  signatureHeader: SIGNATURE_HEADER,
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

/** Event from a builder, or raw text or bytes to send as they are. */
export type Sendable = WebhookEvent<string, unknown> | string | Uint8Array

/**
 * Makes a delivery as the service sends it, or spoils it in one way.
 *
 * @param given event from a builder, or raw text or bytes to sign as they are
 * @example await receiver.receive(signed(events.contact.created(), { secret }))
 */
export function signed(given: Sendable, options: SignedOptions): SignedDelivery {
  const check = new OptionChecker('signed')
  check.mustBeObject(options, '{ secret }')
  check.mustFit(options, SIGNED_OPTIONS)
  check.mustBe('event', given, SENDABLE)
  const { secret, format = 'spaced', tamper = 'none', signatureHeader = SIGNATURE_NAME, seed } = options
  const event = toSent(given)
  const original = toBytes(event, format, seed)
  const signature = tamperedSignature(original, event, secret, tamper)
  // A Buffer: test clients send any other array as JSON.
  const body = Buffer.from((tamper === 'flip-bit' ? flipBit(original) : original).buffer)
  const headers = {
    'content-type': 'application/json',
    ...(signature !== undefined && { [signatureHeader.toLowerCase()]: signature }),
  }
  return {
    body,
    headers,
    signature,
    request(url = 'http://localhost/webhooks') {
      new OptionChecker('signed().request').mustBe('url', url, ABSOLUTE_URL)
      return new Request(url, { method: 'POST', headers, body })
    },
  }
}

/** An event has a type: signed deliveries, lists and promises have none. */
export const SENDABLE: Kind = (value) =>
  typeof value === 'string' || isBytes(value) || (typeof value === 'object' && typeof Object(value).type === 'string')
    ? undefined
    : 'an event, such as events.contact.created(), text or bytes; anything that is not an event as text'

/** Leaves out the model and action, which the receiver adds for handlers. */
function toSent(event: Sendable): Sendable {
  if (typeof event === 'string' || isBytes(event)) return event
  const about = splitType(String(event.type))
  const { model, action, ...sent } = event as ModelEvent // if it has these fields
  return model === about?.model && action === about?.action ? sent : event
}

function toBytes(event: Sendable, format: BodyFormat, seed: string | number | undefined): Uint8Array<ArrayBuffer> {
  const isRaw = typeof event === 'string' || isBytes(event)
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
      if (typeof event === 'string' || isBytes(event))
        throw new OptionChecker('signed').invalid(
          'the tamper "reserialised" needs an event: raw text or bytes have no other way to be written.',
        )
      // Signs the format of JSON.stringify(JSON.parse(body)), or another one if the body has that format already.
      return sign(
        formatJson(event, Buffer.from(formatJson(event, 'compact')).equals(body) ? 'pretty' : 'compact'),
        secret,
      )
    default:
      return spoilSignature(tamper, body, secret).join(', ') // as HTTP joins the values of one header
  }
}
