import { type ModelEvent, NAMED_TYPES, splitType, type WebhookEvent } from '../../src/protocol/events.ts'
import { SIGNATURE_HEADER } from '../../src/protocol/head.ts'
import { type Kind, OptionChecker, oneOf } from '../../src/protocol/option-checker.ts'
import type { OpenTypes } from '../../src/protocol/sender.ts'
import { type Secret, sign } from '../../src/protocol/signature.ts'
import { SIGNATURE_NAME } from '../../src/protocol/signature-name.ts'
import { flipBit, SIGNATURE_FAULTS, type SignatureFault, spoilSignature } from '../wire/signature-mistakes.ts'
import {
  DELIVERY_OPTIONS,
  type DeliveryOptions,
  isRaw,
  makeDelivery,
  reserialise,
  type SignedDelivery,
  toBytes,
} from './delivery.ts'
import { mustBeOfService, type Payload, type SignedFromOptions, signFrom } from './signed-from.ts'

/** Ways to spoil a delivery, each in one thing. `flip-bit` changes the body after it is signed, `reserialised` signs the same JSON in another format. */
export type Tamper = 'none' | 'flip-bit' | 'reserialised' | 'no-header' | SignatureFault

/** Options of `signed`: the secret, the form of the JSON, and the way to spoil the delivery. */
export interface SignedOptions extends DeliveryOptions {
  /** Way to spoil the delivery. Default `none`. */
  readonly tamper?: Tamper | undefined
  /** Name of the signature header. Default `X-Service-Signature`. */
  readonly signatureHeader?: string | undefined
}

/** Kinds of the options of `signed`. */
export const SIGNED_OPTIONS: Readonly<Record<keyof SignedOptions, Kind>> = {
  ...DELIVERY_OPTIONS,
  tamper: oneOf(['none', 'flip-bit', 'reserialised', 'no-header', ...SIGNATURE_FAULTS]),
  signatureHeader: SIGNATURE_HEADER,
}

/** Event from a builder, or raw text or bytes to send as they are. */
export type Sendable = WebhookEvent<string, unknown> | string | Uint8Array

/**
 * Makes a delivery as the service sends it, or as another sender does, or spoils it in one way.
 *
 * @param given event from a builder, or the payload of another sender; or raw text or bytes to sign as they are
 * @throws ConfigurationError `option_invalid`, `option_unknown`, `secret_unusable`
 * @example
 * await receiver.receive(signed(events.contact.created(), { secret }))
 * await receiver.receive(signed({ action: 'opened' }, { sender: github(), secret, type: 'issues.opened' }))
 */
export function signed<Types = OpenTypes>(given: Payload, options: SignedFromOptions<Types>): SignedDelivery
export function signed(given: Sendable, options: SignedOptions): SignedDelivery
export function signed(given: Payload, options: SignedOptions | SignedFromOptions, next?: unknown): SignedDelivery {
  const check = new OptionChecker('signed')
  const isSwapped = 'secret' in Object(given) && (isRaw(options) || !('secret' in Object(options)))
  if (isSwapped) throw check.invalid('the event comes first: signed(event, { secret }).')
  check.mustBeObject(options, '{ secret }')
  check.mustEnd(next)
  return 'sender' in options ? signFrom(given, options) : signEvent(check, given as Sendable, options) // checked there
}

function signEvent(check: OptionChecker, given: Sendable, options: SignedOptions): SignedDelivery {
  mustBeOfService(check, options, Object.keys(SIGNED_OPTIONS))
  check.mustFit(options, SIGNED_OPTIONS)
  check.mustBe('event', given, SENDABLE)
  const { secret, tamper = 'none', signatureHeader = SIGNATURE_NAME } = options
  const event = toSent(given)
  const original = toBytes(event, options)
  const signature = tamperedSignature(original, event, secret, tamper)
  const body = tamper === 'flip-bit' ? flipBit(original) : original
  return makeDelivery(body, signature === undefined ? {} : { [signatureHeader.toLowerCase()]: signature }, signature)
}

/** An event has a type: signed deliveries, lists and promises have none. */
export const SENDABLE: Kind = (value) =>
  (isRaw(value) && !NAMED_TYPES.includes(String(value))) ||
  (typeof value === 'object' && typeof Object(value).type === 'string')
    ? undefined
    : 'an event, such as events.contact.created(), text or bytes; anything that is not an event as text'

/** Leaves out the model and action, which the receiver adds for handlers. */
function toSent(event: Sendable): Sendable {
  if (isRaw(event)) return event
  const about = splitType(String(event.type))
  const { model, action, ...sent } = event as ModelEvent // if it has these fields
  return model === about?.model && action === about?.action ? sent : event
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
      return sign(reserialise(event, body), secret)
    default:
      return spoilSignature(tamper, body, secret).join(', ') // as HTTP joins the values of one header
  }
}
