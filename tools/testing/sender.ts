import { sleep, systemClock } from '../../src/host/clock.ts'
import { CLOCK, closeCalls, type Kind, OptionChecker, SIGNAL, whole } from '../../src/protocol/option-checker.ts'
import type { OpenTypes, Sender as WebhookSender } from '../../src/protocol/sender.ts'
import { SENDER } from '../../src/protocol/sender-protocol.ts'
import { parseDuration } from '../wire/parse-duration.ts'
import { type Attempt, type AttemptPlan, makeAttempt, type SenderClock } from './attempt.ts'
import type { DeliveryOptions, SignedDelivery } from './delivery.ts'
import { DURATION, reads } from './manual-clock.ts'
import type { Sendable, SignedOptions } from './signed.ts'
import { mustBeOfService, type Payload, type SendFromOptions } from './signed-from.ts'
import { pickSpeaker } from './speaker.ts'
import type { Target } from './target.ts'
import { warnOnce } from './warn-once.ts'

/** Options of every sender: its target and its clock. */
interface Sending {
  /** Target of the deliveries. */
  readonly target: Target
  /**
   * Clock for deadlines and delays. Default: real time, by which a failing delivery of the service takes two and a half hours. With a `manualClock`,
   * deadlines and delays pass only when the test advances it.
   */
  readonly clock?: SenderClock | undefined
}

/** Options of `createSender`: the target and its clock, and how to sign by default. */
export interface SenderOptions extends SignedOptions, Sending {}

/** Options of `createSender` for another sender than the CRM service. */
export interface SenderFromOptions<Types = OpenTypes> extends SendFromOptions<Types>, Sending {
  /** Sender as `receiveFrom` takes it, such as `github()`. */
  readonly sender: WebhookSender<Types>
  /** Signing secret of the receiver. */
  readonly secret: DeliveryOptions['secret']
}

/** Options of one call, which override those of the sender. */
export type SendOptions = Partial<SignedOptions>

/** Result of a delivery so far. */
export interface DeliveryResult {
  /** `pending` until an attempt is acknowledged, or the last one has failed. */
  readonly status: 'pending' | 'success' | 'failed'
  readonly attempts: readonly Attempt[]
  /** Next attempt; undefined while an attempt is in progress, and at the end. */
  readonly next: ScheduledAttempt | undefined
}

/** Attempt that is still to come. */
export interface ScheduledAttempt {
  /** Time of the attempt in milliseconds since 1970. */
  readonly at: number
  /** Delay from the end of the previous attempt, in milliseconds. */
  readonly delayMs: number
}

/** Delivery in progress. Its properties are always up to date, and the promise is fulfilled when the delivery ends. */
export interface PendingDelivery extends Promise<DeliveryResult>, DeliveryResult {}

/** Sends deliveries as the service does, in good times and bad. No method rejects because of the receiver. */
export interface Sender<Given = Sendable, Options = SendOptions> {
  /** Makes one attempt. */
  send(event: Given, options?: Options): Promise<Attempt>
  /** Sends the same delivery `count` times, one after the other. */
  duplicate(event: Given, count: number, options?: Options): Promise<readonly Attempt[]>
  /** Sends the same delivery `count` times concurrently. */
  concurrently(event: Given, count: number, options?: Options): Promise<readonly Attempt[]>
  /** Sends several deliveries one after the other, the last one first. Returns the attempts in the order of the events. */
  outOfOrder(events: readonly Given[], options?: Options): Promise<readonly Attempt[]>
  /** Makes one attempt with its body in parts of `size` bytes, without a declared length. */
  chunked(event: Given, size: number, options?: Options): Promise<Attempt>
  /** Makes one attempt, and cuts its connection after a time: milliseconds, or text such as `2s`. */
  abortAfter(event: Given, time: number | string, options?: Options & AbortOptions): Promise<Attempt>
  /**
   * Delivers until an attempt is acknowledged, by the whole schedule of the service: up to five attempts. Another sender makes its `attempts`,
   * each signed anew: their delays double, and take its `duplicatesForMs` together.
   */
  deliver(event: Given, options?: Options & DeliverOptions): PendingDelivery
}

/** Further options of `abortAfter`. */
export interface AbortOptions {
  /** Number of bytes of the body to send before the connection is cut. Default: all. */
  readonly bytes?: number | undefined
}

/** Further options of `deliver`. */
export interface DeliverOptions {
  /** Ends the delivery, which then rejects with the signal's reason: without it, a test on real time lives on for its delays. */
  readonly signal?: AbortSignal | undefined
}

/** True if an attempt began in the code that runs now, so that it was not awaited. */
export const begun = { isNow: false }

const COUNT = whole(1, 100_000)
const TARGET: Kind = (value) =>
  typeof Object(value).send === 'function'
    ? undefined
    : 'a target: nodeTarget(app), fastifyTarget(app), fetchTarget(handler) or urlTarget(url)'

/**
 * Creates a sender that signs as the service does, or as another sender.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`, `secret_unusable`, also by its methods
 * @example
 * const sender = createSender({ target: nodeTarget(app), secret, clock })
 * const attempt = await sender.send(events.contact.created(), { tamper: 'flip-bit' })
 */
export function createSender<Types = OpenTypes>(
  options: SenderFromOptions<Types>,
): Sender<Payload, SendFromOptions<Types>>
export function createSender(options: SenderOptions): Sender
export function createSender(options: SenderOptions | SenderFromOptions, next?: unknown): Sender<Payload, object> {
  const check = new OptionChecker('createSender')
  check.mustBeObject(options, '{ target, secret }')
  if (!('target' in options) && TARGET(options) === undefined)
    throw check.invalid('it takes one object of options: { target, secret }.')
  if ('path' in options) throw check.invalid('path is an option of the target: nodeTarget(app, { path }).')
  check.mustEnd(next)
  const speaker = pickSpeaker(check, options)
  const kinds = { target: TARGET, clock: CLOCK, ...speaker.sendOptions, sender: SENDER }
  if (!('sender' in options)) mustBeOfService(check, options, Object.keys(kinds))
  check.mustFit(options, kinds, ['target'])
  const { target, clock = systemClock, ...defaults } = options
  speaker.checkSecret(defaults.secret)
  /** Checks the arguments of a method: its event, or events, and its options. */
  const checkCall = (method: string, event: unknown, options: object | undefined, own: Kinds = {}) => {
    const check = new OptionChecker(`sender.${method}`)
    if (method !== 'outOfOrder') check.mustBe('event', event, speaker.sendable)
    else check.mustBe('events', event, listOf(speaker.sendable))
    if (options !== undefined) check.mustFit(options, { ...speaker.sendOptions, ...own })
    return check
  }
  /** Returns a function that signs the same delivery at any time. */
  const prepare = (event: Payload, options: object = {}) => {
    const given = Object.entries(options).filter(([, value]) => value !== undefined)
    return speaker.prepare(event, { ...defaults, ...Object.fromEntries(given) })
  }
  type Prepared = ReturnType<typeof prepare>
  const attempt = (signAt: Prepared, shape: Partial<Shape> = {}) => {
    const plan = toPlan(signAt(clock.now()), { waitsMs: speaker.waitsMs, ...shape })
    begun.isNow = true
    queueMicrotask(() => {
      begun.isNow = false
    })
    return makeAttempt(target, clock, plan)
  }

  return closeCalls<Sender<Payload, object>>('sender', {
    async send(event, options) {
      checkCall('send', event, options)
      return attempt(prepare(event, options))
    },
    async duplicate(event, count, options) {
      checkCall('duplicate', event, options).mustBe('count', count, COUNT)
      const prepared = prepare(event, options)
      const attempts: Attempt[] = []
      while (attempts.length < count) attempts.push(await attempt(prepared))
      return attempts
    },
    async concurrently(event, count, options) {
      checkCall('concurrently', event, options).mustBe('count', count, COUNT)
      const prepared = prepare(event, options)
      return Promise.all(Array.from({ length: count }, () => attempt(prepared)))
    },
    async outOfOrder(events, options) {
      checkCall('outOfOrder', events, options)
      const attempts: Attempt[] = []
      for (const event of events.toReversed()) attempts.unshift(await attempt(prepare(event, options)))
      return attempts
    },
    async chunked(event, size, options) {
      checkCall('chunked', event, options).mustBe('size', size, SIZE)
      return attempt(prepare(event, options), { partSize: size })
    },
    async abortAfter(event, time, options) {
      checkCall('abortAfter', event, options, { bytes: BYTES }).mustBe('time', time, DURATION)
      const { bytes, ...rest } = options ?? {}
      return attempt(prepare(event, rest), { abortAfterMs: parseDuration(time), bytes })
    },
    deliver(event, options) {
      checkCall('deliver', event, options, { signal: SIGNAL })
      const { signal, ...rest } = options ?? {}
      const prepared = prepare(event, rest)
      return deliver((number) => attempt(prepared, { number, signal }), speaker.delaysMs, clock, signal)
    },
  })
}

const listOf =
  (kind: Kind): Kind =>
  (value) =>
    Array.isArray(value) && value.length > 0 && !value.some(kind) ? undefined : 'a list of at least one event'

type Kinds = Readonly<Record<string, Kind>>

const SIZE = whole(1, Number.MAX_SAFE_INTEGER)
const BYTES = whole(0, Number.MAX_SAFE_INTEGER)

interface Shape {
  readonly number: number
  readonly partSize: number
  readonly abortAfterMs: number
  readonly bytes: number | undefined
  readonly signal: AbortSignal | undefined
}

function toPlan(
  { body: whole, headers, signature }: SignedDelivery,
  shape: Partial<Shape> & Pick<AttemptPlan, 'waitsMs'>,
): AttemptPlan {
  const { number = 1, waitsMs, partSize, abortAfterMs, bytes, signal } = shape
  const sent = bytes === undefined ? whole : whole.slice(0, bytes)
  return {
    number,
    waitsMs,
    abortAfterMs,
    signal,
    request: {
      // The tamper `two-headers` has two values.
      headers: Object.entries(headers).flatMap(([name, text]) =>
        (text === signature ? text.split(', ') : [text]).map((value) => [name, value] as const),
      ),
      body: partSize === undefined ? [sent] : toParts(sent, partSize),
      declaredLength: sent.length < whole.length ? whole.length : undefined,
    },
  }
}

const ON_REAL_TIME =
  'sender.deliver: the next attempt waits by real time, but the receiver has a manual clock: createSender({ clock }).'

/** Splits a body into parts. An empty first part makes a body that fits into one part a stream. */
function toParts(bytes: Uint8Array<ArrayBuffer>, size: number): readonly Uint8Array<ArrayBuffer>[] {
  const count = Math.ceil(bytes.length / size)
  const parts = Array.from({ length: count }, (_, index) => bytes.slice(index * size, (index + 1) * size))
  return count > 1 ? parts : [new Uint8Array(), ...parts]
}

function deliver(
  attempt: (number: number) => Promise<Attempt>,
  delaysMs: readonly number[],
  clock: SenderClock,
  signal: AbortSignal | undefined,
): PendingDelivery {
  const attempts: Attempt[] = []
  let status: DeliveryResult['status'] = 'pending'
  let next: ScheduledAttempt | undefined
  const run = async (): Promise<DeliveryResult> => {
    for (const [index, delayMs] of delaysMs.entries()) {
      if (index > 0) {
        next = { at: clock.now() + delayMs, delayMs }
        await sleep(clock, delayMs, signal).finally(() => {
          next = undefined
        })
      }
      signal?.throwIfAborted()
      const readBefore = reads.count
      const made = await attempt(index + 1)
      signal?.throwIfAborted()
      attempts.push(made)
      if (made.failure === undefined) break
      if (clock === systemClock && reads.count > readBefore) warnOnce(ON_REAL_TIME)
    }
    status = attempts.at(-1)?.failure === undefined ? 'success' : 'failed'
    return { status, attempts, next: undefined }
  }
  const end = run()
  end.catch(() => {}) // a test that cancels it need not await it
  return Object.defineProperties(end, {
    status: { get: () => status },
    attempts: { get: () => attempts },
    next: { get: () => next },
  }) as PendingDelivery // the three properties were just added
}
