import { setTimeoutAt, TIMERS_END_WITH_REQUEST, unref } from '../host/clock.ts'
import { PosternError } from '../protocol/errors.ts'
import { isBytes } from '../protocol/is-bytes.ts'
import { type Outcome, Rejection, toOverloaded, toRejected } from '../protocol/outcome.ts'
import { isThenable } from '../protocol/promises.ts'
import { show } from '../protocol/show.ts'
import type { BodyFailure, BodyIntake, DeliveryRequest } from './adapter.ts'
import type { EventRequest } from './run.ts'
import type { Shared } from './shared.ts'

/** Memory that a fragment takes in addition to its bytes. */
const FRAGMENT_BYTES = 512

const TOO_LARGE = new Rejection('body_too_large', 'The body is over maxBodyBytes.')
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
  /** When the timer fires that cuts the oldest of them. One timer serves all: one for each costs about 3 % of a delivery over HTTP. */
  #sweepAt = Number.NEGATIVE_INFINITY
  #sweepTimer: unknown
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
    if (isBytes(body)) return body.length > this.#shared.settings.maxBodyBytes ? toRejected(TOO_LARGE) : body
    if (body?.failure === 'body_too_large') return toRejected(TOO_LARGE)
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
  close(outcome: Outcome): void {
    if (this.#sweepTimer !== undefined) this.#shared.settings.clock.clearTimeout(this.#sweepTimer)
    for (const intake of this.#incomplete) intake.cut(outcome)
  }

  #await(
    intake: Intake,
    reading: PromiseLike<Uint8Array | BodyFailure>,
    { startedAt, deadline }: EventRequest,
  ): Promise<Uint8Array | Outcome> {
    intake.deadline = deadline
    // Fake timers of a test may have swallowed the timer, or moved the clock.
    const isSwept = startedAt <= this.#sweepAt && this.#sweepAt <= deadline
    if (!isSwept || TIMERS_END_WITH_REQUEST) this.#sweepLater(deadline)
    return new Promise((resolve, reject) => {
      const end = (body: Uint8Array | Outcome) => {
        this.#close(intake)
        resolve(body)
      }
      intake.onEnd = end
      if (intake.cutWith !== undefined) end(intake.cutWith)
      else this.#incomplete.add(intake)
      reading.then(
        (body) => intake.cutWith === undefined && end(this.toBytes(body)),
        (cause) => {
          reject(cause) // a defect of the adapter, as above; has no effect if the body was cut
          end(toRejected(INCOMPLETE))
        },
      )
    })
  }

  /** The timer stays when the bodies are complete, and does not keep the process alive: their connections do. */
  #sweepLater(at: number): void {
    this.#sweepAt = at
    this.#sweepTimer = setTimeoutAt(this.#shared.settings.clock, at, () => this.#sweep(at))
    unref(this.#sweepTimer)
  }

  /** Cuts the bodies whose deadline has come. */
  #sweep(at: number): void {
    for (const oldest of this.#incomplete) {
      if (oldest.deadline > at) {
        if (at === this.#sweepAt) this.#sweepLater(oldest.deadline)
        return
      }
      oldest.cut(toRejected(TIMED_OUT))
    }
  }

  #close(intake: Intake): void {
    this.#incomplete.delete(intake)
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
