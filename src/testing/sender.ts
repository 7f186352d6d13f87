import { systemClock } from '../host/clock.ts'
import { parseDuration } from '../host/duration.ts'
import { ATTEMPT_DELAYS_MS } from '../protocol/schedule.ts'
import { show } from '../protocol/show.ts'
import { SIGNATURE_HEADER } from '../protocol/signature.ts'
import { type Attempt, type AttemptPlan, makeAttempt, type SenderClock } from './attempt.ts'
import { type Sendable, type SignedDelivery, type SignedOptions, signed } from './signed.ts'
import type { Target } from './target.ts'

export interface SenderOptions extends SignedOptions {
  /** Where the deliveries go. */
  readonly target: Target
  /**
   * What deadlines and delays go by. Default: real time, by which a failing delivery takes two and a half hours. With a
   * `manualClock`, whatever waits for a time waits for the test to move it.
   */
  readonly clock?: SenderClock
}

/** For one call, in place of what the sender was made with. */
export type SendOptions = Partial<SignedOptions>

/** What became of a delivery so far. */
export interface DeliveryResult {
  /** `pending` until an attempt is acknowledged, or the last one failed. */
  readonly status: 'pending' | 'success' | 'failed'
  readonly attempts: readonly Attempt[]
  /** The attempt that is to come; undefined while one is under way, and at the end. */
  readonly next: ScheduledAttempt | undefined
}

export interface ScheduledAttempt {
  /** In milliseconds since 1970. */
  readonly at: number
  /** From the end of the attempt before. */
  readonly delayMs: number
}

/** A delivery under way: what it shows is up to date, and it is fulfilled when the delivery ends. */
export interface Delivery extends Promise<DeliveryResult>, DeliveryResult {}

/** Sends deliveries as the service does, and as it does on its bad days. No method rejects for what the receiver does. */
export interface Sender {
  /** One attempt. */
  send(event: Sendable, options?: SendOptions): Promise<Attempt>
  /** The same delivery `count` times, one after the other. */
  duplicate(event: Sendable, count: number, options?: SendOptions): Promise<readonly Attempt[]>
  /** The same delivery `count` times at once. */
  concurrently(event: Sendable, count: number, options?: SendOptions): Promise<readonly Attempt[]>
  /** Several deliveries, one after the other, the last one first. The attempts are in the order of the events. */
  outOfOrder(events: readonly Sendable[], options?: SendOptions): Promise<readonly Attempt[]>
  /** One attempt whose body comes in parts of `size` bytes, without a declared length. */
  chunked(event: Sendable, size: number, options?: SendOptions): Promise<Attempt>
  /** One attempt whose connection is cut after a time: milliseconds, or text such as `2s`. */
  abortAfter(event: Sendable, time: number | string, options?: AbortOptions): Promise<Attempt>
  /** The service's whole schedule: up to five attempts, until one is acknowledged. */
  deliver(event: Sendable, options?: SendOptions): Delivery
}

export interface AbortOptions extends SendOptions {
  /** How many bytes of the body are sent before the connection is cut. Default: all. */
  readonly bytes?: number
}

/**
 * A sender that signs as the service does.
 *
 * @example
 * const sender = createSender({ target: nodeTarget(app), secret, clock })
 * const attempt = await sender.send(events.contact.created(), { tamper: 'flip-bit' })
 */
export function createSender(options: SenderOptions): Sender {
  const { target, clock = systemClock, ...defaults } = options ?? {}
  if (typeof target?.send !== 'function')
    throw new TypeError(
      `createSender() takes a target, not ${show(target)}: nodeTarget(app), fastifyTarget(app), fetchTarget(handler) or urlTarget(url).`,
    )
  if (typeof clock.setTimeout !== 'function' || typeof clock.now !== 'function')
    throw new TypeError(`createSender() takes a clock such as manualClock(), not ${show(clock)}.`)
  const attempt = (event: Sendable, options: SendOptions | undefined, shape: Partial<Shape> = {}) =>
    makeAttempt(target, clock, toPlan(signed(event, { ...defaults, ...options }), shape))

  return {
    send: async (event, options) => attempt(event, options),
    async duplicate(event, count, options) {
      checkCount('duplicate', count)
      const attempts: Attempt[] = []
      while (attempts.length < count) attempts.push(await attempt(event, options))
      return attempts
    },
    async concurrently(event, count, options) {
      checkCount('concurrently', count)
      return Promise.all(Array.from({ length: count }, () => attempt(event, options)))
    },
    async outOfOrder(events, options) {
      if (!Array.isArray(events)) throw new TypeError(`outOfOrder() takes a list of events, not ${show(events)}.`)
      const attempts: Attempt[] = []
      for (const event of events.toReversed()) attempts.unshift(await attempt(event, options))
      return attempts
    },
    async chunked(event, size, options) {
      if (!(Number.isInteger(size) && size > 0))
        throw new RangeError(`chunked() takes the bytes of a part as its second argument, 1 or more, not ${size}.`)
      return attempt(event, options, { partSize: size })
    },
    async abortAfter(event, time, { bytes, ...options } = {}) {
      if (bytes !== undefined && !(Number.isInteger(bytes) && bytes >= 0))
        throw new RangeError(`abortAfter() sends 0 bytes or more of the body, not ${bytes}.`)
      return attempt(event, options, { abortAfterMs: parseDuration(time), bytes })
    },
    deliver(event, options) {
      const delivery = signed(event, { ...defaults, ...options })
      return deliver((number) => makeAttempt(target, clock, toPlan(delivery, { number })), clock)
    },
  }
}

function checkCount(method: string, count: unknown): void {
  if (!Number.isInteger(count) || Number(count) < 1)
    throw new RangeError(
      `${method}() takes how many times to send as its second argument, 1 or more, not ${String(count)}.`,
    )
}

/** How one attempt differs from a plain one. */
interface Shape {
  readonly number: number
  readonly partSize: number
  readonly abortAfterMs: number
  readonly bytes: number | undefined
}

function toPlan({ bytes: whole, headers, signature }: SignedDelivery, shape: Partial<Shape>): AttemptPlan {
  const { number = 1, partSize, abortAfterMs, bytes } = shape
  const sent = bytes === undefined ? whole : whole.slice(0, bytes)
  const others = Object.entries(headers).filter(([name]) => name !== SIGNATURE_HEADER)
  const signatures = signature?.split(', ') ?? [] // two, for one tamper
  return {
    number,
    abortAfterMs,
    request: {
      headers: [...others, ...signatures.map((value) => [SIGNATURE_HEADER, value] as const)],
      body: partSize === undefined ? [sent] : toParts(sent, partSize),
      declaredLength: sent.length < whole.length ? whole.length : undefined,
    },
  }
}

/** An empty first part makes a stream of what would fit into one. */
function toParts(bytes: Uint8Array<ArrayBuffer>, size: number): readonly Uint8Array<ArrayBuffer>[] {
  const count = Math.ceil(bytes.length / size)
  const parts = Array.from({ length: count }, (_, index) => bytes.slice(index * size, (index + 1) * size))
  return count > 1 ? parts : [new Uint8Array(), ...parts]
}

function deliver(attempt: (number: number) => Promise<Attempt>, clock: SenderClock): Delivery {
  const attempts: Attempt[] = []
  let status: DeliveryResult['status'] = 'pending'
  let next: ScheduledAttempt | undefined
  const run = async (): Promise<DeliveryResult> => {
    for (const [index, delayMs] of ATTEMPT_DELAYS_MS.entries()) {
      if (index > 0) {
        next = { at: clock.now() + delayMs, delayMs }
        await new Promise<void>((resolve) => clock.setTimeout(resolve, delayMs))
        next = undefined
      }
      const made = await attempt(index + 1)
      attempts.push(made)
      if (made.failure === undefined) break
    }
    status = attempts.at(-1)?.failure === undefined ? 'success' : 'failed'
    return { status, attempts, next: undefined }
  }
  return Object.defineProperties(run(), {
    status: { get: () => status },
    attempts: { get: () => attempts },
    next: { get: () => next },
  }) as Delivery // the three properties were just added
}
