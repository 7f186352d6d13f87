import type { ParsedEvent } from '../protocol/envelope.ts'
import { HandlerError } from '../protocol/errors.ts'
import type { Outcome } from '../protocol/outcome.ts'
import type { Claim } from '../store/store.ts'
import { keepTrying, STORE_LIMIT_MS } from './keep-trying.ts'
import { isClaim, Lease, toStoreError } from './lease.ts'
import { asLate, toEventOutcome, toFailed } from './outcomes.ts'
import type { Route } from './routes.ts'
import type { Delivery, RunHost } from './run-host.ts'
import { quote } from './show.ts'
import { handOver, Waiters } from './waiters.ts'
import { isThenable, within } from './within.ts'
import { type Settlement, Work, type WorkListener } from './work.ts'

/** How often a claim that is held elsewhere is asked for again, in milliseconds. */
const BUSY_POLL_MS = 1_000
/** How far behind its own next step a run may be before it counts as cut off. */
const CUT_OFF_AFTER_MS = 5_000

/**
 * One event on its way through claim, work and settling, together with every delivery that waits for the result. It goes as far
 * as it can without waiting: with a store and handlers that answer at once, no promise, no timer and no closure is made, which is
 * why the calls of that path are written out.
 */
export class Run implements WorkListener {
  readonly key: string
  /** The final result, once there is one. */
  outcome: Outcome | undefined

  readonly #host: RunHost
  readonly #event: ParsedEvent
  readonly #route: Route
  readonly #first: Delivery
  #waiters: Waiters | undefined
  /** `storing`: the handlers succeeded and everybody was told, but the store has not taken it yet. */
  #phase: 'claiming' | 'busy' | 'working' | 'settling' | 'storing' = 'claiming'
  /** What the answer will be unless the store objects, once the work has ended. */
  #verdict: Outcome | undefined
  #lease: Lease | undefined
  #work: Work | undefined
  #timer: unknown
  #wasAnsweredLate = false
  #onEnded: (() => void)[] | undefined

  constructor(host: RunHost, key: string, event: ParsedEvent, route: Route, first: Delivery) {
    this.#host = host
    this.key = key
    this.#event = event
    this.#route = route
    this.#first = first
  }

  /** Begins, and goes on as far as it can at once. Look at `outcome` afterwards; where there is none, `join`. */
  start(): void {
    this.#claim(this.#first.startedAt)
  }

  /** The answer of a delivery that waits for this run: its result, or what is known at the delivery's own deadline. */
  join(delivery: Delivery): Outcome | Promise<Outcome> {
    const isCopy = delivery !== this.#first
    if (this.#phase !== 'storing') {
      this.#waiters ??= new Waiters(this.#host, (waiting) => this.#answerAtDeadline(waiting))
      return this.#waiters.add(delivery, isCopy)
    }
    handOver(this.#host, delivery, () => this.#whenEnded())
    return toEventOutcome(isCopy ? 'duplicate' : 'handled', this.#event)
  }

  /**
   * Whether the host has stopped this run for good, as some serverless hosts stop whatever a finished request leaves behind: a run
   * that goes on renews its claim, or ends, long before.
   */
  get isCutOff(): boolean {
    return this.#host.clock.monotonic() > (this.#lease?.endsAt ?? this.#latestDeadline) + CUT_OFF_AFTER_MS
  }

  /** What the owner is to be told of a run that was cut off. */
  toCutOffError(): HandlerError {
    const { id, type } = this.#event
    return new HandlerError(
      'handler_abandoned',
      `The host stopped the handlers of ${quote(type)} once their delivery had been answered. Give the adapter a waitUntil, or do less in them.`,
      { handlers: this.#handlerNames(), eventId: id, eventType: type },
    )
  }

  // ── Claim ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #claim(askedAt: number): void {
    const { store, leaseMs } = this.#host
    let claim: Claim | PromiseLike<Claim>
    try {
      claim = store.claim(this.key, leaseMs)
      if (isThenable(claim)) return this.#awaitClaim(claim, askedAt)
    } catch (cause) {
      return this.#onClaimFailed(cause)
    }
    this.#onClaim(claim, askedAt)
  }

  #awaitClaim(claim: PromiseLike<Claim>, askedAt: number): void {
    within(this.#host.clock, this.#storeLimit(), 'store.claim', claim, (late) => this.#giveBack(late, askedAt)).then(
      (answer) => this.#onClaim(answer, askedAt),
      (cause: unknown) => this.#onClaimFailed(cause),
    )
  }

  #onClaim(claim: Claim, askedAt: number): void {
    if (this.outcome !== undefined) return this.#giveBack(claim, askedAt)
    if (!isClaim(claim)) return this.#onClaimFailed(new TypeError('store.claim() gave something that is not a claim'))
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
    if (this.outcome === undefined) this.#end(this.#noClaim(cause))
  }

  /** A claim that came when nobody waited for it any more: nobody else would ever release it. */
  #giveBack(claim: Claim, askedAt: number): void {
    if (isClaim(claim) && claim.state === 'claimed')
      new Lease(this.#host, this.key, claim.token, askedAt).release(STORE_LIMIT_MS, claim.marks, ignore)
  }

  #noClaim(cause: unknown): Outcome {
    const error = toStoreError('claim', cause, 'no handler ran, and the sender will come again')
    this.#host.reporter.error(error)
    return toFailed(503, 'store_unavailable', error, this.#event)
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

  onPending(finished: readonly string[]): void {
    this.#lease?.keepAlive(finished, () => this.#work?.loseLease())
  }

  async transact(mark: string, signal: AbortSignal, work: (tx: never) => unknown): Promise<unknown> {
    if (this.#lease === undefined) throw new TypeError('nothing is claimed')
    return this.#lease.transact(mark, signal, work)
  }

  onEnd(verdict: Outcome, settleBy: Settlement, finished: readonly string[]): void {
    this.#phase = 'settling'
    this.#verdict = verdict
    if (settleBy === 'complete') return this.#complete()
    if (settleBy === 'abandon') this.#lease?.abandon(finished)
    this.#lease?.stop()
    if (settleBy === 'release') this.#lease?.release(this.#storeLimit(), finished, () => this.#end(verdict))
    else this.#end(verdict)
  }

  // ── Settling ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #complete(): void {
    let isDone: boolean | PromiseLike<boolean> | undefined
    try {
      isDone = this.#lease?.complete()
      if (isThenable(isDone)) return this.#awaitCompletion(isDone)
    } catch (cause) {
      return this.#storeLater(cause)
    }
    this.#onCompleted(isDone)
  }

  #awaitCompletion(isDone: PromiseLike<boolean | undefined>): void {
    within(this.#host.clock, this.#storeLimit(), 'store.complete', isDone).then(
      (answer) => this.#onCompleted(answer),
      (cause: unknown) => this.#storeLater(cause),
    )
  }

  #onCompleted(isDone: boolean | undefined): void {
    if (isDone && this.#verdict !== undefined) return this.#end(this.#verdict)
    const { id, type } = this.#event
    const error = new HandlerError(
      'lease_lost',
      `Another process had taken over ${quote(type)} when its handlers ended here.`,
      { handlers: this.#handlerNames(), eventId: id, eventType: type },
    )
    this.#host.reporter.error(error)
    this.#end(toFailed(503, 'lease_lost', error, this.#event))
  }

  /** The work is done, but the store did not take it: the answer is 200, and until the store agrees this process remembers. */
  #storeLater(cause: unknown): void {
    const { reporter } = this.#host
    reporter.error(toStoreError('complete', cause, 'the handlers succeeded, so it is tried again for 60 s'))
    const handled = toEventOutcome('handled', this.#event)
    this.#phase = 'storing'
    this.#lease?.keepAlive(this.#work?.finished ?? [], ignore)
    this.#waiters?.handOverAll(() => this.#whenEnded())
    this.#waiters?.answerAll(handled)
    keepTrying(
      this.#host,
      'store.complete',
      () => this.#lease?.complete(),
      (isDone) => this.#onCompleted(isDone),
      (again) => {
        reporter.error(
          toStoreError('complete', again, 'that was the last try, and a later copy of the event may run again'),
        )
        this.#end(handled)
      },
    )
  }

  #end(outcome: Outcome): void {
    if (this.#timer !== undefined) this.#host.clock.clearTimeout(this.#timer)
    this.#lease?.stop()
    this.outcome = outcome
    this.#host.ended(this.key, this)
    this.#waiters?.answerAll(outcome)
    if (this.#wasAnsweredLate) this.#host.reporter.outcome(asLate(outcome), this.#first.source, this.#first.startedAt)
    if (this.#onEnded !== undefined) for (const resolve of this.#onEnded) resolve()
  }

  // ── Those who wait ───────────────────────────────────────────────────────────────────────────────────────────────

  #answerAtDeadline(delivery: Delivery): Outcome {
    if (this.#phase === 'busy') return this.#giveUp(toEventOutcome('busy', this.#event))
    if (this.#phase === 'claiming') return this.#giveUp(this.#noClaim(undefined))
    handOver(this.#host, delivery, () => this.#whenEnded())
    if (this.#verdict !== undefined) return this.#verdict
    this.#wasAnsweredLate = true
    return toEventOutcome('late', this.#event)
  }

  /** Nothing has begun here: the run is over once nobody is left who waits for the claim. */
  #giveUp(outcome: Outcome): Outcome {
    if (this.#waiters?.isEmpty) this.#end(outcome)
    return outcome
  }

  get #latestDeadline(): number {
    return this.#waiters?.latestDeadline ?? this.#first.startedAt + this.#host.deadlineMs
  }

  /** Three seconds, or what is left to the deadline of whoever waits longest; work that outlived them all gets the three. */
  #storeLimit(): number {
    const left = this.#latestDeadline - this.#host.clock.monotonic()
    return left > 0 ? Math.min(STORE_LIMIT_MS, left) : STORE_LIMIT_MS
  }

  #handlerNames(): readonly string[] {
    return this.#route.handlers.map(({ name }) => name)
  }

  #whenEnded(): Promise<void> {
    return new Promise((resolve) => {
      this.#onEnded ??= []
      this.#onEnded.push(resolve)
    })
  }
}

const ignore = () => {}
