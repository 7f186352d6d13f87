import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { FILLED_TEXT, type Kind, number, OptionChecker, oneOf } from '../../src/protocol/option-checker.ts'
import { Rejection } from '../../src/protocol/outcome.ts'
import { findSpelt } from '../../src/protocol/pattern.ts'
import type { Protocol } from '../../src/protocol/protocol.ts'
import type { OpenTypes, Sender as WebhookSender } from '../../src/protocol/sender.ts'
import { SENDER, toProtocol } from '../../src/protocol/sender-protocol.ts'
import { flipBit, OTHER_SECRET } from '../wire/signature-mistakes.ts'
import {
  DELIVERY_OPTIONS,
  type DeliveryOptions,
  isRaw,
  makeDelivery,
  reserialise,
  type SignedDelivery,
  toBytes,
} from './delivery.ts'
import { areSeconds } from './manual-clock.ts'
import { warnOnce } from './warn-once.ts'

const TAMPERS = ['none', 'flip-bit', 'reserialised', 'no-header', 'two-headers', 'other-secret', 'expired'] as const

/** Ways to spoil a delivery of any sender, each in one thing. `expired` signs it earlier than the sender's tolerance allows. */
export type SenderTamper = (typeof TAMPERS)[number]

/** Options of a delivery of a sender: the names that its headers carry, and the way to spoil it. */
export interface SendFromOptions<Types = OpenTypes> extends Partial<DeliveryOptions> {
  /** Type of the event, if a header names it. Default `test`. Otherwise the payload has it. */
  readonly type?: (keyof Types & string) | undefined
  /** Id of the delivery, if a header has it. Default: a new one. */
  readonly id?: string | undefined
  /** Tenant, if a header names it. Default `acme`. */
  readonly accountKey?: string | undefined
  /** Way to spoil the delivery. Default `none`. */
  readonly tamper?: SenderTamper | undefined
}

/** Options of `signed` for another sender than the CRM service. */
export interface SignedFromOptions<Types = OpenTypes> extends SendFromOptions<Types> {
  /** Sender as `receiveFrom` takes it, such as `github()`. */
  readonly sender: WebhookSender<Types>
  /** Signing secret of the receiver. */
  readonly secret: DeliveryOptions['secret']
  /** Time of the attempt in milliseconds since 1970, which some senders sign. Default: now. */
  readonly at?: number | undefined
}

/** Payload of a sender: an object, or raw text or bytes to send as they are. */
export type Payload = object | string | Uint8Array

export const PAYLOAD: Kind = (value) =>
  isRaw(value) || (typeof value === 'object' && value !== null && !['then', 'request'].some((name) => name in value))
    ? undefined
    : 'a payload: an object, text or bytes'

/** Kinds of the options of one call of a sender. */
export const SEND_FROM_OPTIONS: Readonly<Record<keyof SendFromOptions, Kind>> = {
  ...DELIVERY_OPTIONS,
  type: FILLED_TEXT,
  id: FILLED_TEXT,
  accountKey: FILLED_TEXT,
  tamper: oneOf(TAMPERS),
}

const AT: Kind = (value) => (areSeconds(value) ? 'milliseconds since 1970, not seconds' : number(0, 8.64e15)(value))
const OPTIONS = { ...SEND_FROM_OPTIONS, sender: SENDER, at: AT }
const EXPIRED_BY_MS = 60_000
const DEFAULT_TYPE = 'test'

/** Refuses options of another sender in a call without one, whose `sender` may be misspelt. */
export function mustBeOfService(check: OptionChecker, options: object, known: readonly string[]): void {
  check.mustHaveOnly(options, [...known, ...Object.keys(OPTIONS).filter((name) => !known.includes(name))])
  check.mustHaveOnly(options, known, () => 'It is for another sender: add sender, such as github().')
}

/** Returns a new id of a delivery. */
export function makeId(): string {
  return `test_${randomBytes(12).toString('hex')}`
}

/**
 * Makes a delivery as a sender signs it, or spoils it in one way. Refuses one that no receiver of that sender could name.
 *
 * @param newId the id if the options have none
 */
export function signFrom<Types>(payload: Payload, options: SignedFromOptions<Types>, newId = makeId()): SignedDelivery {
  const check = new OptionChecker('signed')
  check.mustFit(options, OPTIONS, ['sender'])
  check.mustBe('payload', payload, PAYLOAD)
  const { sender, secret, tamper = 'none', at = Date.now() } = options
  const { toleranceMs } = sender
  const spelt = options.type && findSpelt(options.type, sender)
  if (spelt) throw check.invalid(`type is "${options.type}", which ${sender.name} spells "${spelt}".`)
  if (tamper === 'expired' && toleranceMs === undefined)
    throw check.invalid(`the tamper "expired" needs a time that is signed, and ${sender.name} signs none.`)
  const protocol = toProtocol(sender)
  const key = protocol.importSecret(secret)
  const { type = DEFAULT_TYPE, id = newId, accountKey = 'acme' } = options
  const names = { type, id, accountKey, timestamp: new Date(at).toISOString() }
  const sign = (bytes: Uint8Array, by: KeyObject = key, when = at) =>
    Object.fromEntries(
      Object.entries(sender.sign(bytes, by, { ...names, at: when })).map(([name, value]) => [
        name.toLowerCase(),
        value,
      ]),
    )
  const bytes = toBytes(payload, options)
  const right = sign(bytes)
  mustBeReadable(check, { payload, bytes, headers: right, protocol, key, at }, options)

  const [header] = sender.headers
  const signature = right[header] ?? ''
  const spoil = (headers: Readonly<Record<string, string>>) => makeDelivery(bytes, headers, headers[header])
  switch (tamper) {
    case 'none':
      return spoil(right)
    case 'flip-bit':
      return makeDelivery(flipBit(bytes), right, signature)
    case 'reserialised':
      return spoil(sign(reserialise(payload, bytes)))
    case 'no-header': {
      const { [header]: _left, ...others } = right
      return spoil(others)
    }
    case 'two-headers': // as HTTP joins the values of one header
      return spoil({ ...right, [header]: `${signature}, ${sign(bytes, OTHER_KEY)[header]}` })
    case 'other-secret':
      return spoil(sign(bytes, OTHER_KEY))
    case 'expired':
      return spoil(sign(bytes, key, at - (toleranceMs ?? 0) - EXPIRED_BY_MS))
  }
}

const OTHER_KEY = createSecretKey(OTHER_SECRET, 'utf8')

interface Made {
  readonly payload: Payload
  readonly bytes: Uint8Array
  readonly headers: Readonly<Record<string, string>>
  readonly protocol: Protocol
  readonly key: KeyObject
  readonly at: number
}

/** Refuses an untampered delivery that its sender itself cannot read, or that has other names than the options. Text and bytes need name no event. */
function mustBeReadable<Types>(
  check: OptionChecker,
  { payload, bytes, headers, protocol, key, at }: Made,
  { sender, type, id, accountKey, tamper = 'none' }: SignedFromOptions<Types>,
): void {
  const head = protocol.readHead({ header: (name) => headers[name] }, at)
  if (head instanceof Rejection)
    throw check.invalid(`${sender.name} cannot read the headers of its sign(): ${head.reason}`)
  if (!protocol.matches(bytes, head, key))
    throw check.invalid(`sign() of ${sender.name} makes another signature than its readHead() and the secret ask for.`)
  const event = protocol.parse(bytes, head)
  if (event instanceof Rejection) {
    if (isRaw(payload)) return
    throw check.invalid(`${event.reason} Complete the payload; give what is no event as text.`)
  }
  const values = Object.values(headers)
  // Most receivers ignore this type with 200, so that a test of the status alone passes.
  if (type === undefined && tamper === 'none' && values.includes(DEFAULT_TYPE))
    warnOnce(
      `signed: type was left out, and ${sender.name} names it in a header: it is "${event.event.type}". Pass { type }.`,
    )
  for (const [name, given] of Object.entries({ type, id, accountKey })) {
    const named = event.event[name as 'type' | 'id' | 'accountKey']
    if (given !== undefined && given !== named && !values.includes(given))
      throw check.invalid(
        `${name} is "${given}", but ${sender.name} names "${named}" by this payload; change the payload.`,
      )
  }
}
