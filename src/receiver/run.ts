import type { ParsedEvent } from '../protocol/envelope.ts'
import { HandlerError } from '../protocol/errors.ts'
import type { Outcome } from '../protocol/outcome.ts'
import type { Claim } from '../store/store.ts'
import { Lease, STORE_LIMIT_MS, toStoreError } from './lease.ts'
import { asLate, toEventOutcome, toFailed } from './outcomes.ts'
import type { Route } from './routes.ts'
import type { Delivery, RunHost } from './run-host.ts'
import { handOver, Waiters } from './waiters.ts'
import { callWithin } from './within.ts'
import { Work, type WorkListener, type WorkResult } from './work.ts'

/** How often a claim that is held elsewhere is asked for again, in milliseconds. */
const BUSY_POLL_MS = 1_000
/** How long the success of handlers is offered to a store that does not take it, and how soon again at first. */
const STORE_FOR_MS = 60_000
const FIRST_STORE_DELAY_MS = 100

/**
 * One event on its way through claim, work and settling, together with every delivery that waits for the result. It goes as far
 * as it can without waiting: with a store and handlers that answer at once, no promise and no timer is made.
 */
export class Run implements WorkListener {
  readonly key: string
  /** The final result, once there is one. */
  outcome: Outcome | undefined

  readonly #host: RunHost
  readonly #event: ParsedEvent
  readonly #route: Route
  readonly #first: Delivery
  readonly #waiters: Waiters
  /** `storing`: the handlers succeeded and everybody was told, but the store has not taken it yet. */
  #phase: 'claiming' | 'busy' | 'working' | 'settling' | 'storing' = 'claiming'
  /** What the answer will be unless the store objects, once the work has ended. */
  #verdict: Outcome | undefined
  #lease: Lease | undefined
  #work: Work | undefined
  #timer: unknown
  #wasAnsweredLate = false
  #onEnded: (() => void)[] = []

  constructor(host: RunHost, key: string, event: ParsedEvent, route: Route, first: Delivery) {
    this.#host = host
    this.key = key
    this.#event = event
    this.#route = route
    this.#first = first
    this.#waiters = new Waiters(host, first, (delivery) => this.#answerAtDeadline(delivery))
  }

  /** Begins, and goes on as far as it can at once. Look at `outcome` afterwards; where there is none, `join`. */
  start(): void {
    this.#claim(this.#first.startedAt)
  }

  /** The answer of a delivery that waits for this run: its result, or what is known at the delivery's own deadline. */
  join(delivery: Delivery): Outcome | Promise<Outcome> {
    const isCopy = delivery !== this.#first
    if (this.#phase !== 'storing') return this.#waiters.add(delivery, isCopy)
    handOver(this.#host, delivery, () => this.#whenEnded())
    return toEventOutcome(isCopy ? 'duplicate' : 'handled', this.#event)
  }

  // ── Claim ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #claim(askedAt: number): void {
    const { clock, store, leaseMs } = this.#host
    callWithin<Claim>(
      clock,
      this.#storeLimit(),
      'store.claim',
      () => store.claim(this.key, leaseMs, this.#event.accountKey),
      {
        onAnswer: (claim) => this.#onClaim(claim, askedAt),
        onFailure: (cause) => this.#onClaimFailed(cause),
        // Nobody waits for it any more, and nobody would ever release it.
        onLate: (claim) =>
          claim.state === 'claimed' &&
          new Lease(this.#host, this.key, claim.token, askedAt).release(STORE_LIMIT_MS, claim.marks, ignore),
      },
    )
  }

  #onClaim(claim: Claim, askedAt: number): void {
    switch (claim.state) {
      case 'done':
        return this.#end(toEventOutcome('duplicate', this.#event))
      case 'busy':
        return this.#pollLater()
      case 'claimed':
        this.#phase = 'working'
        this.#lease = new Lease(this.#host, this.key, claim.token, askedAt)
        this.#work = new Work(this.#host, this.#event, this.#route, this.#first.source, claim.marks, this)
        this.#work.start()
    }
  }

  #onClaimFailed(cause: unknown): void {
    const error = toStoreError('claim', cause, 'no handler ran, and the sender will come again')
    this.#host.reporter.error(error)
    this.#end(toFailed(503, 'store_unavailable', error, this.#event))
  }

  /** Another process is at it, and whoever waits here may still see it end. */
  #pollLater(): void {
    const { clock } = this.#host
    this.#phase = 'busy'
    this.#timer = clock.setTimeout(() => {
      if (this.#host.isClosing) this.#end(toEventOutcome('closing', this.#event))
      else this.#claim(clock.monotonic())
    }, BUSY_POLL_MS)
  }

  // ── Work ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  onPending(): void {
    const { finished } = this.#work ?? { finished: [] }
    this.#lease?.keepAlive(finished, () => this.#work?.loseLease())
  }

  onEnd({ verdict, settleBy }: WorkResult): void {
    this.#lease?.stop()
    this.#phase = 'settling'
    this.#verdict = verdict
    if (settleBy === 'nothing') return this.#end(verdict)
    if (settleBy === 'release')
      return this.#lease?.release(this.#storeLimit(), this.#work?.finished ?? [], () => this.#end(verdict))
    this.#lease?.complete(this.#storeLimit(), {
      onAnswer: (isDone) => this.#onCompleted(isDone),
      onFailure: (cause) => this.#storeLater(cause),
    })
  }

  // ── Settling ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #onCompleted(isDone: boolean): void {
    if (isDone) return this.#end(toEventOutcome('handled', this.#event))
    const { id, type } = this.#event
    const handlers = this.#route.handlers.map(({ name }) => name)
    const error = new HandlerError(
      'lease_lost',
      `Another process had taken over "${type}" when its handlers ended here.`,
      { handlers, eventId: id, eventType: type },
    )
    this.#host.reporter.error(error)
    this.#end(toFailed(503, 'lease_lost', error, this.#event))
  }

  /** The work is done, but the store did not take it: the answer is 200, and until the store agrees this process remembers. */
  #storeLater(cause: unknown): void {
    const { clock, leaseMs, reporter } = this.#host
    reporter.error(toStoreError('complete', cause, 'the handlers succeeded, so it is tried again for 60 s'))
    this.#phase = 'storing'
    this.#waiters.handOverAll(() => this.#whenEnded())
    this.#waiters.answerAll(toEventOutcome('handled', this.#event))
    const giveUpAt = clock.monotonic() + STORE_FOR_MS
    let delayMs = FIRST_STORE_DELAY_MS
    const tryAgain = () =>
      this.#lease?.complete(STORE_LIMIT_MS, {
        onAnswer: (isDone) => this.#onCompleted(isDone),
        onFailure: () => {
          if (clock.monotonic() >= giveUpAt) return this.#end(toEventOutcome('handled', this.#event))
          this.#lease?.renew(this.#work?.finished ?? [], ignore)
          delayMs = Math.min(delayMs * 2, leaseMs / 3)
          this.#timer = clock.setTimeout(tryAgain, delayMs)
        },
      })
    this.#timer = clock.setTimeout(tryAgain, delayMs)
  }

  #end(outcome: Outcome): void {
    if (this.#timer !== undefined) this.#host.clock.clearTimeout(this.#timer)
    this.outcome = outcome
    this.#host.ended(this.key)
    this.#waiters.answerAll(outcome)
    if (this.#wasAnsweredLate) this.#host.reporter.outcome(asLate(outcome), this.#first.source, this.#first.startedAt)
    for (const resolve of this.#onEnded) resolve()
  }

  // ── Those who wait ───────────────────────────────────────────────────────────────────────────────────────────────

  #answerAtDeadline(delivery: Delivery): Outcome {
    if (this.#phase === 'busy') {
      queueMicrotask(() => {
        if (this.#waiters.isEmpty && this.outcome === undefined) this.#end(toEventOutcome('busy', this.#event))
      })
      return toEventOutcome('busy', this.#event)
    }
    handOver(this.#host, delivery, () => this.#whenEnded())
    if (this.#verdict !== undefined) return this.#verdict
    if (this.#phase === 'claiming')
      return toFailed(
        503,
        'store_unavailable',
        toStoreError('claim', undefined, 'no handler ran by the deadline'),
        this.#event,
      )
    this.#wasAnsweredLate = true
    return toEventOutcome('late', this.#event)
  }

  /** Three seconds, or what is left to the deadline of whoever waits longest; work that outlived them all gets the three. */
  #storeLimit(): number {
    const left = this.#waiters.latestDeadline - this.#host.clock.monotonic()
    return left > 0 ? Math.min(STORE_LIMIT_MS, left) : STORE_LIMIT_MS
  }

  #whenEnded(): Promise<void> {
    return new Promise((resolve) => {
      if (this.outcome !== undefined) resolve()
      else this.#onEnded.push(resolve)
    })
  }
}

const ignore = () => {}
