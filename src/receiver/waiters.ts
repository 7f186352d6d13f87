import { setTimeoutAt } from '../host/clock.ts'
import { type Failed, type Outcome, toFailed, toOutcome } from '../protocol/outcome.ts'
import { StoreFailure } from './lease.ts'
import type { EventRequest, Run, RunResult } from './run.ts'
import type { Shared } from './shared.ts'

/** Time by which a run may be overdue before it counts as cut off, in milliseconds. */
const CUT_OFF_AFTER_MS = 5_000
/** Number of duplicates that may wait for one event: an attacker who recorded a delivery can send it any number of times. */
const MAX_DUPLICATES = 100

interface Waiter {
  /** @param outcome undefined at the deadline of the delivery */
  readonly resolve: (outcome: Outcome | undefined) => void
  timer: unknown
}

/** The deliveries that wait for one run. Each is answered by its deadline, from the state of the run. */
export class Waiters {
  readonly run: Run
  readonly #shared: Shared
  #latestDeadline: number
  #claimBy: number
  #waiters: Set<Waiter> | undefined
  #claimFailure: Failed | undefined
  /** True if a delivery was answered `late`: the end is reported for the first one. */
  #wasLate = false
  #ended: Promise<void> | undefined

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

  /** Resolves when the run has ended and all deliveries are answered. */
  get ended(): Promise<void> | undefined {
    return this.#ended
  }

  /** True if the host has suspended this run, as serverless hosts may do after an answer: it has not renewed its claim in time. */
  get isCutOff(): boolean {
    const { state } = this.run
    if (state.at === 'ended') return false
    const endsAt = 'lease' in state ? state.lease.endsAt : this.#latestDeadline
    return this.#shared.settings.clock.monotonic() > endsAt + CUT_OFF_AFTER_MS
  }

  /** Returns the outcome of the run, or its state at the deadline of the delivery. */
  join(delivery: EventRequest): Outcome | Promise<Outcome> {
    const { state } = this.run
    if (state.at === 'storing' && state.isAnswered) {
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

  /**
   * Returns the outcome of an event whose claim failed or came too late, and reports it once: `busy` if the deadline came while the store was
   * asked again for an event that another process held.
   */
  failClaim(failure: StoreFailure): Outcome {
    const { run } = this
    if (run.state.at === 'busy' && this.timeLeft === 0) return toOutcome('busy', run)
    if (this.#claimFailure === undefined) {
      const consequence = run.first.item === undefined ? 'no handler ran, and the sender may retry' : 'no handler ran'
      const error = failure.toError('claim', consequence)
      this.#shared.reporter.error(error, run.first)
      this.#claimFailure = toFailed(503, 'store_unavailable', error, run)
    }
    return this.#claimFailure
  }

  answerAll(outcome: Outcome): void {
    for (const waiter of this.#waiters ?? []) this.#answer(waiter, outcome)
  }

  /** @param ended resolves when the run has ended, and another one of its key may begin */
  follow(ended: Promise<RunResult>): void {
    this.#ended = this.#answerAtEnd(ended)
  }

  async #answerAtEnd(ended: Promise<RunResult>): Promise<void> {
    const { outcome } = await ended
    this.answerAll(outcome)
  }

  /** Continues in the async context of the delivery, not in that of its answer. */
  async #finishAnswer(delivery: EventRequest, answered: Promise<Outcome | undefined>): Promise<Outcome> {
    const answer = await answered
    const { state } = this.run
    if (state.at === 'ended') {
      if (state.result.goesOn !== undefined) this.#handOver(delivery)
      return this.#toOwn(answer ?? state.result.outcome, delivery) // it may have ended in the moment of the deadline
    }
    if (answer !== undefined) this.#handOver(delivery)
    return this.#toOwn(answer ?? this.#atDeadline(delivery), delivery)
  }

  #atDeadline(delivery: EventRequest): Outcome {
    const { state } = this.run
    if (state.at === 'busy') return toOutcome('busy', this.run)
    // `dispatch` with a short wait still claims the event later: nothing would send it again.
    if (state.at === 'claiming' && delivery.claimBy <= delivery.deadline)
      return this.failClaim(new StoreFailure(undefined))
    this.#handOver(delivery)
    if (state.at === 'storing') return state.verdict
    if (!this.#wasLate) void this.#reportLateEnd(delivery)
    this.#wasLate = true
    return toOutcome('late', this.run)
  }

  /** Reports the end to the owner, in the async context of the delivery that was late. */
  async #reportLateEnd(delivery: EventRequest): Promise<void> {
    await this.#ended
    const { state } = this.run
    if (state.at !== 'ended') return
    const outcome = this.#toOwn(state.result.outcome, delivery)
    this.#shared.reporter.outcome({ ...outcome, late: true } as Outcome, delivery) // spreading widens the union
  }

  /** Marks the outcome of a delivery that joined. */
  #toOwn(outcome: Outcome, delivery: EventRequest): Outcome {
    return delivery === this.run.first ? outcome : ({ ...outcome, joined: true } as Outcome) // spreading widens the union
  }

  #answer(waiter: Waiter, outcome: Outcome | undefined): void {
    this.#waiters?.delete(waiter)
    if (waiter.timer !== undefined) this.#shared.settings.clock.clearTimeout(waiter.timer)
    waiter.resolve(outcome)
  }

  /** Passes unfinished work to a serverless host, which may otherwise freeze the process after the answer. */
  #handOver({ waitUntil }: EventRequest): void {
    if (waitUntil === undefined) return
    const work = Promise.resolve(this.#ended).then(() => {
      const { state } = this.run
      return state.at === 'ended' ? state.result.goesOn : undefined
    })
    this.#shared.reporter.callHook('waitUntil', waitUntil, work)
  }
}
