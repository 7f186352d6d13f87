import { canIdle, setTimeoutAt, TIMERS_END_WITH_REQUEST } from '../host/clock.ts'
import { PosternError } from '../protocol/errors.ts'
import { toTooLarge } from '../protocol/head.ts'
import { isBytes } from '../protocol/is-bytes.ts'
import { type Outcome, Rejection, toOverloaded, toRejected } from '../protocol/outcome.ts'
import { isThenable } from '../protocol/promises.ts'
import { show } from '../protocol/show.ts'
import type { BodyFailure, BodyIntake, DeliveryRequest } from './adapter.ts'
import type { EventRequest } from './run.ts'
import type { Shared } from './shared.ts'

/** Memory that a fragment takes in addition to its bytes. */
const FRAGMENT_BYTES = 512

const TOO_FRAGMENTED = new Rejection(
  'body_too_large',
  'The body came in so many small fragments that keeping them costs more than four times maxBodyBytes.',
)
const INCOMPLETE = new Rejection(
  'body_incomplete',
  'The connection ended before the body did, or the body was not of its declared length.',
)
const TIMED_OUT = new Rejection('body_timeout', 'The body was not complete by the deadline.')

/** Stop 2: reads bodies, and limits their time and memory until their signatures are checked. */
export class Bodies {
  readonly #shared: Shared
  /** Incomplete bodies, the oldest first. */
  readonly #incomplete = new Set<Intake>()
  /** Cuts bodies at their deadlines. One timer for all, since one for each costs about 3 % of a delivery over HTTP. */
  #sweep: { readonly at: number; readonly timer: unknown; readonly setTimeout: unknown } | undefined
  #incompleteBytes = 0
  /** Bytes of incomplete bodies, and of complete ones that wait for their secrets. */
  #heldBytes = 0

  constructor(shared: Shared) {
    this.#shared = shared
  }

  /** Returns the exact bytes, or an outcome if they did not arrive by the deadline. */
  read(request: DeliveryRequest, delivery: EventRequest): Uint8Array | Outcome | Promise<Uint8Array | Outcome> {
    const intake = new Intake(this)
    try {
      const body = request.read(this.#shared.settings.maxBodyBytes, intake)
      if (isThenable(body)) return this.#await(intake, body, delivery)
      this.#close(intake)
      return intake.cutWith ?? this.toBytes(body)
    } catch (cause) {
      this.#close(intake)
      throw cause // a defect of the adapter: it returns what a sender causes
    }
  }

  /** Checks the body that an adapter, or the caller of `receive`, passed. */
  toBytes(body: Uint8Array | BodyFailure | undefined): Uint8Array | Outcome {
    const { maxBodyBytes } = this.#shared.settings
    if (isBytes(body) && body.length <= maxBodyBytes) return body
    if (isBytes(body) || body?.failure === 'body_too_large') return toRejected(toTooLarge(maxBodyBytes))
    if (body?.failure === 'body_incomplete') return toRejected(INCOMPLETE)
    // A custom adapter in plain JavaScript may return nothing.
    const fix = body?.fix ?? "The adapter's read() returned neither bytes nor a failure."
    return this.refuse(`The body had been read before the receiver could, so its signature cannot be checked. ${fix}`)
  }

  /** Reports that the app or the adapter passed no exact bytes, and returns the outcome. */
  refuse(message: string): Outcome {
    const error = new PosternError('body_consumed', message)
    this.#shared.reporter.errorOnce(error)
    return { outcome: 'error', status: 500, code: 'body_consumed', error }
  }

  /** Reserves memory for bytes whose signature is not checked yet, and cuts the oldest incomplete bodies for it. Returns false if that is not enough. */
  hold(bytes: number): boolean {
    if (!this.hasRoom(bytes)) return false
    const most = this.#shared.settings.maxBufferedBytes - bytes
    for (const oldest of this.#incomplete) {
      if (this.#heldBytes <= most) break
      // Honest senders need milliseconds; an attacker's bodies are the oldest.
      oldest.cut(this.full(408))
    }
    this.#heldBytes += bytes
    return true
  }

  /** Returns false if complete bodies alone leave no room, so that cutting incomplete ones would not help. */
  hasRoom(bytes: number): boolean {
    return this.#heldBytes - this.#incompleteBytes <= this.#shared.settings.maxBufferedBytes - bytes
  }

  /** Reserves what a body may cost at most, in bytes. Returns false if more than half of `maxBufferedBytes` would be reserved then. */
  reserve(intake: Intake, bytes: number): boolean {
    if (!(bytes >= 0) || this.#heldBytes + bytes > this.#shared.settings.maxBufferedBytes / 2) return false
    intake.cost += bytes
    this.#incompleteBytes += bytes
    this.#heldBytes += bytes
    return true
  }

  /** Returns the outcome of a delivery for whose bytes there is no room. */
  full(status: 408 | 503 = 503, event?: Parameters<typeof toOverloaded>[2]): Outcome {
    const { maxBufferedBytes } = this.#shared.settings
    const reason = `bodies that wait for their rest, their secrets or the inbox use up maxBufferedBytes (${maxBufferedBytes}). Raise it, unless they are an attack.`
    return toOverloaded(status, reason, event)
  }

  letGo(bytes: number): void {
    this.#heldBytes -= bytes
  }

  /** Adds a fragment to an incomplete body, and cuts the body if it costs too much. */
  take(intake: Intake, bytes: number): void {
    if (!(bytes >= 0)) throw new TypeError(`take() was given ${show(bytes)} as the number of bytes`) // by an adapter in plain JavaScript
    const cost = bytes + FRAGMENT_BYTES
    if (intake.cost + cost > this.#shared.settings.maxBodyCost) intake.cut(toRejected(TOO_FRAGMENTED))
    else if (!this.hold(cost)) intake.cut(this.full(408))
    else if (intake.cutWith === undefined) {
      intake.cost += cost
      this.#incompleteBytes += cost
    } else this.letGo(cost) // `hold` has cut this very body: it was the oldest
  }

  /** Answers every incomplete body without the rest of it. */
  cutAll(outcome: Outcome): void {
    for (const intake of this.#incomplete) intake.cut(outcome)
  }

  #await(
    intake: Intake,
    reading: PromiseLike<Uint8Array | BodyFailure>,
    { startedAt, deadline }: EventRequest,
  ): Promise<Uint8Array | Outcome> {
    intake.deadline = deadline
    return new Promise((resolve, reject) => {
      const end = (body: Uint8Array | Outcome) => {
        this.#close(intake)
        resolve(body)
      }
      intake.onEnd = end
      if (intake.cutWith !== undefined) end(intake.cutWith)
      else {
        this.#watch(startedAt, deadline)
        this.#incomplete.add(intake)
      }
      reading.then(
        (body) => intake.cutWith === undefined && end(this.toBytes(body)),
        (cause) => {
          reject(cause) // a defect of the adapter, as above; has no effect if the body was cut
          end(toRejected(INCOMPLETE))
        },
      )
    })
  }

  /** Sees that the sweep is set, at the latest for a body that begins now. */
  #watch(startedAt: number, deadline: number): void {
    const { at = Number.NEGATIVE_INFINITY, timer, setTimeout } = this.#sweep ?? {}
    // Fake timers of a test may have swallowed it, or moved the clock.
    const isSet = startedAt <= at && at <= deadline && setTimeout === globalThis.setTimeout && !TIMERS_END_WITH_REQUEST
    if (!isSet) this.#sweepAt(deadline)
    else if (this.#incomplete.size === 0 && canIdle(this.#shared.settings.clock, timer)) timer.ref()
  }

  #sweepAt(at: number): void {
    const timer = setTimeoutAt(this.#shared.settings.clock, at, () => this.#cutOverdue(at))
    this.#sweep = { at, timer, setTimeout: globalThis.setTimeout }
  }

  #cutOverdue(at: number): void {
    if (this.#sweep?.at === at) this.#sweep = undefined
    for (const oldest of this.#incomplete) {
      if (oldest.deadline > at) {
        if (this.#sweep === undefined) this.#sweepAt(oldest.deadline)
        return
      }
      oldest.cut(toRejected(TIMED_OUT))
    }
  }

  /** The timer stays for the next bodies, if it need not keep the process alive. */
  #rest(): void {
    const { clock } = this.#shared.settings
    const timer = this.#sweep?.timer
    if (timer === undefined) return
    if (canIdle(clock, timer)) timer.unref()
    else {
      clock.clearTimeout(timer)
      this.#sweep = undefined
    }
  }

  #close(intake: Intake): void {
    if (this.#incomplete.delete(intake) && this.#incomplete.size === 0) this.#rest()
    this.#incompleteBytes -= intake.cost
    this.letGo(intake.cost)
    intake.cost = 0
    intake.isOver = true
  }
}

class Intake implements BodyIntake {
  /** Bytes that are counted for this body. */
  cost = 0
  /** On the monotonic clock. */
  deadline = Number.POSITIVE_INFINITY
  /** The answer, once the receiver no longer waits for the rest. */
  cutWith: Outcome | undefined
  /** True once the body is complete or has failed; an adapter may still call `take`. */
  isOver = false
  onCut: (() => void) | undefined
  onEnd: ((outcome: Outcome) => void) | undefined
  readonly #bodies: Bodies

  constructor(bodies: Bodies) {
    this.#bodies = bodies
  }

  take(bytes: number): boolean {
    if (this.cutWith === undefined && !this.isOver) this.#bodies.take(this, bytes)
    return this.cutWith === undefined && !this.isOver
  }

  reserve(bytes: number): boolean {
    return !this.isOver && this.#bodies.reserve(this, bytes)
  }

  cut(outcome: Outcome): void {
    this.cutWith = outcome
    this.onEnd?.(outcome)
    this.onCut?.()
  }
}
