import { setTimeoutAt } from '../host/clock.ts'
import { type Failed, type Outcome, toFailed, toOutcome } from '../protocol/outcome.ts'
import type { Lease } from './lease.ts'
import type { EventRequest, Run } from './run.ts'
import type { Shared } from './shared.ts'
import { StoreFailure } from './store-call.ts'

/** Time by which a run may be overdue before it counts as cut off, in milliseconds. */
const CUT_OFF_AFTER_MS = 5_000
/** Number of duplicates that may wait for one event: an attacker who recorded a delivery can send it any number of times. */
const MAX_DUPLICATES = 100

/** Result of a run. */
export interface RunResult {
  readonly outcome: Outcome
  /** Names of the handlers that have finished, in this or an earlier attempt. */
  readonly marks: readonly string[]
  /** Settles when the retries of store calls that failed at the end are over. Never rejects. */
  readonly goesOn?: Promise<unknown> | undefined
}

interface Waiter {
  /** @param outcome undefined at the deadline of the delivery */
  readonly resolve: (outcome: Outcome | undefined) => void
  timer: unknown
}

/** The state of one run, and the deliveries that wait for it: each is answered by its deadline. */
export class Waiting {
  readonly run: Run
  readonly #shared: Shared
  /** `storing`: the handlers succeeded and all deliveries were answered, but the store has not taken it yet. */
  #phase: 'claiming' | 'busy' | 'working' | 'storing' = 'claiming'
  #lease: Lease | undefined
  /** The outcome of the handlers, unless the store reports a lost lease. */
  #verdict: Outcome | undefined
  #result: RunResult | undefined
  #ended: Promise<void> | undefined
  #claimFailure: Failed | undefined
  /** True if a delivery was answered `late`: the end is reported for the first one. */
  #wasLate = false
  #latestDeadline: number
  #claimBy: number
  #waiters: Set<Waiter> | undefined

  constructor(shared: Shared, run: Run) {
    this.run = run
    this.#shared = shared
    this.#latestDeadline = run.first.deadline
    this.#claimBy = run.first.claimBy
  }

  /** The latest time at which a claim is useful to a delivery. */
  get claimBy(): number {
    return this.#claimBy
  }

  /** Milliseconds until the last waiting delivery must be answered. Less than one counts as none: timers may fire early. */
  get timeLeft(): number {
    const leftMs = this.#latestDeadline - this.#shared.settings.clock.monotonic()
    return leftMs < 1 ? 0 : leftMs
  }

  /** Undefined until the run ends. */
  get result(): RunResult | undefined {
    return this.#result
  }

  /** Resolves when the run has ended and all deliveries are answered. */
  get ended(): Promise<void> | undefined {
    return this.#ended
  }

  /** True if the host has suspended this run for good, as some serverless hosts do after an answer: else it would have renewed its claim. */
  get isCutOff(): boolean {
    const { clock } = this.#shared.settings
    return clock.monotonic() > (this.#lease?.endsAt ?? this.#latestDeadline) + CUT_OFF_AFTER_MS
  }

  // ── Deliveries ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** Returns the outcome of the run, or the state at the deadline of the delivery. */
  join(delivery: EventRequest): Outcome | Promise<Outcome> {
    if (this.#phase === 'storing') {
      this.#handOver(delivery)
      return toOutcome('duplicate', this.run)
    }
    this.#waiters ??= new Set()
    const waiters = this.#waiters
    if (waiters.size > MAX_DUPLICATES) return toOutcome('busy', this.run)
    this.#latestDeadline = Math.max(this.#latestDeadline, delivery.deadline)
    this.#claimBy = Math.max(this.#claimBy, delivery.claimBy)
    const answered = new Promise<Outcome | undefined>((resolve) => {
      const waiter: Waiter = { resolve, timer: undefined }
      waiters.add(waiter)
      if (delivery.deadline === Number.POSITIVE_INFINITY) return
      waiter.timer = setTimeoutAt(this.#shared.settings.clock, delivery.deadline, () => this.#answer(waiter, undefined))
    })
    return this.#finishAnswer(delivery, answered)
  }

  /** Continues in the async context of the delivery, not in that of its answer. */
  async #finishAnswer(delivery: EventRequest, answered: Promise<Outcome | undefined>): Promise<Outcome> {
    const answer = (await answered) ?? this.#result?.outcome // the run may have ended in the same moment
    const isUnfinished = this.#result === undefined || this.#result.goesOn !== undefined
    if (answer !== undefined && isUnfinished) this.#handOver(delivery)
    const outcome = answer ?? this.#atDeadline(delivery)
    return this.#toOwn(outcome, delivery)
  }

  /** Marks the outcome of a delivery that joined. */
  #toOwn(outcome: Outcome, delivery: EventRequest): Outcome {
    return delivery === this.run.first ? outcome : ({ ...outcome, joined: true } as Outcome) // spreading widens the union
  }

  /** Reports the end to the owner, in the async context of the delivery that was late. */
  async #reportLateEnd(delivery: EventRequest): Promise<void> {
    await this.#ended
    if (this.#result === undefined) return
    const outcome = this.#toOwn(this.#result.outcome, delivery)
    this.#shared.reporter.outcome({ ...outcome, late: true } as Outcome, delivery) // spreading widens the union
  }

  #atDeadline(delivery: EventRequest): Outcome {
    if (this.#phase === 'busy') return toOutcome('busy', this.run)
    // An event that the app dispatches is still claimed after a short wait: it has no retries.
    if (this.#phase === 'claiming' && delivery.claimBy <= delivery.deadline)
      return this.failClaim(new StoreFailure(undefined))
    this.#handOver(delivery)
    if (this.#verdict !== undefined) return this.#verdict
    if (!this.#wasLate) void this.#reportLateEnd(delivery)
    this.#wasLate = true
    return toOutcome('late', this.run)
  }

  #answerAll(outcome: Outcome): void {
    for (const waiter of this.#waiters ?? []) this.#answer(waiter, outcome)
  }

  #answer(waiter: Waiter, outcome: Outcome | undefined): void {
    this.#waiters?.delete(waiter)
    if (waiter.timer !== undefined) this.#shared.settings.clock.clearTimeout(waiter.timer)
    waiter.resolve(outcome)
  }

  /** Passes unfinished work to a serverless host, which may otherwise freeze the process after the answer. */
  #handOver({ waitUntil }: EventRequest): void {
    if (waitUntil === undefined) return
    const work = Promise.resolve(this.#ended).then(() => this.#result?.goesOn)
    this.#shared.reporter.callHook('waitUntil', waitUntil, work)
  }

  // ── Progress of the run ──────────────────────────────────────────────────────────────────────────────────────────

  /** Another process holds the event. */
  noteBusy(): void {
    this.#phase = 'busy'
  }

  /**
   * Returns the outcome of an event whose claim failed or came too late, and reports it once: `busy` if the deadline came while the store was
   * asked again for an event that another process held.
   */
  failClaim(failure: StoreFailure): Outcome {
    if (this.#phase === 'busy' && this.timeLeft === 0) return toOutcome('busy', this.run)
    if (this.#claimFailure === undefined) {
      const { first } = this.run
      const consequence = first.item === undefined ? 'no handler ran, and the sender will retry' : 'no handler ran'
      const error = failure.toError('claim', consequence)
      this.#shared.reporter.error(error, first)
      this.#claimFailure = toFailed(503, 'store_unavailable', error, this.run)
    }
    return this.#claimFailure
  }

  /** The event is claimed. */
  noteClaimed(lease: Lease): void {
    this.#phase = 'working'
    this.#lease = lease
  }

  /** The handlers have ended, or none may begin. */
  noteVerdict(verdict: Outcome): void {
    this.#verdict = verdict
  }

  /** The store has not taken the completion yet: answers all deliveries now, and later ones as duplicates. */
  answerUnstored(handled: Outcome): void {
    this.#phase = 'storing'
    this.#answerAll(handled)
  }

  noteEnd(result: RunResult): RunResult {
    this.#result = result
    return result
  }

  /** @param ended resolves when the run has ended, and another one of its key may begin */
  follow(ended: Promise<RunResult>): void {
    this.#ended = this.#answerAtEnd(ended)
  }

  async #answerAtEnd(ended: Promise<RunResult>): Promise<void> {
    const { outcome } = await ended
    this.#answerAll(outcome)
  }
}
