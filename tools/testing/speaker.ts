import type { Kind, OptionChecker } from '../../src/protocol/option-checker.ts'
import { ATTEMPT_DELAYS_MS, SERVICE_DEADLINE_MS } from '../../src/protocol/schedule.ts'
import type { Sender as WebhookSender } from '../../src/protocol/sender.ts'
import { SENDER, toProtocol } from '../../src/protocol/sender-protocol.ts'
import { importSecret } from '../../src/protocol/signature.ts'
import type { SignedDelivery } from './delivery.ts'
import { SENDABLE, type Sendable, SIGNED_OPTIONS, type SignedOptions, signed } from './signed.ts'
import { makeId, PAYLOAD, type Payload, SEND_FROM_OPTIONS, type SignedFromOptions, signFrom } from './signed-from.ts'

type Kinds = Readonly<Record<string, Kind>>

/** Facts about the service, or the sender, that a test sender imitates. */
interface Speaker {
  readonly sendable: Kind
  /** Options that each call may override. */
  readonly sendOptions: Kinds
  /** Delays before the attempts, the first of them 0. */
  readonly delaysMs: readonly number[]
  /** Milliseconds for which it waits for an answer. */
  readonly waitsMs: number
  /** @throws ConfigurationError `secret_unusable` */
  checkSecret(secret: unknown): void
  /** Returns a function that signs one delivery at a time, in milliseconds since 1970. */
  prepare(payload: Payload, options: object): (at: number) => SignedDelivery
}

const ofService: Speaker = {
  sendable: SENDABLE,
  sendOptions: SIGNED_OPTIONS,
  delaysMs: ATTEMPT_DELAYS_MS,
  waitsMs: SERVICE_DEADLINE_MS,
  checkSecret: importSecret,
  prepare(event, options) {
    const delivery = signed(event as Sendable, options as SignedOptions) // both were checked
    return () => delivery
  },
}

/** Returns the speaker of the sender in these options, or of the service. */
export function pickSpeaker(check: OptionChecker, options: object): Speaker {
  if (!('sender' in options)) return ofService
  check.mustBe('sender', options.sender, SENDER)
  const sender = options.sender as WebhookSender // checked above
  return {
    sendable: PAYLOAD,
    sendOptions: SEND_FROM_OPTIONS,
    delaysMs: delaysOf(sender),
    waitsMs: sender.waitsMs,
    checkSecret: (secret) => toProtocol(sender).importSecret(secret),
    prepare(payload, given) {
      const newId = makeId()
      return (at) => signFrom(payload, { ...(given as SignedFromOptions), at }, newId) // checked by createSender and its methods
    },
  }
}

/** Delays that double, and take together as long as the sender repeats an event: vendors publish few of their schedules. */
function delaysOf({ attempts, duplicatesForMs }: WebhookSender): readonly number[] {
  const retries = attempts - 1
  const first = duplicatesForMs / (2 ** retries - 1)
  return [0, ...Array.from({ length: retries }, (_, index) => Math.round(first * 2 ** index))]
}
