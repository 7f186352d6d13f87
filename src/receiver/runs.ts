import type { TakenItem } from '../inbox/inbox.ts'
import type { Tried } from '../inbox/settle.ts'
import type { ParsedEvent } from '../protocol/envelope.ts'
import { type Outcome, toOutcome } from '../protocol/outcome.ts'
import { quote } from '../protocol/show.ts'
import type { Route } from './routes.ts'
import { type EventRequest, Run } from './run.ts'
import { runEvent } from './run-event.ts'
import type { Shared } from './shared.ts'

/** An account gets a place if it holds fewer than this many times the free places: one alone gets four fifths, the next four fifths of the rest. */
const SHARE_OF_FREE = 4
/** Minimum time between two searches of a full receiver for runs that their host cut off, in milliseconds. */
const SWEEP_MS = 1_000
const NO_ROUTE: Route = { handlers: [], isOrdered: false, model: undefined, action: undefined, schema: undefined }

/** The events that run in this process: each runs once, and its duplicates wait for it. */
export class Runs {
  readonly #shared: Shared
  readonly #byKey = new Map<string, Run>()
  readonly #sizeByAccount = new Map<string, number>()
  #sweptAt = Number.NEGATIVE_INFINITY

  constructor(shared: Shared) {
    this.#shared = shared
  }

  /** Number of events that run, from the claim to the settling. */
  get size(): number {
    return this.#byKey.size
  }

  /** Resolves when the events that run now have ended. */
  async whenEnded(): Promise<void> {
    await Promise.all([...this.#byKey.values()].map(({ ended }) => ended))
  }

  /** Stops 7 to 10: the delivery joins the run of its event, or starts one. Handlers may change `event`. */
  answer(key: string, event: ParsedEvent, route: Route, delivery: EventRequest): Outcome | Promise<Outcome> {
    const underWay = this.#find(key)
    if (underWay !== undefined) return underWay.wait(delivery)
    return this.#refuse(key, event) ?? this.#start(new Run(this.#shared, key, event, route, delivery))
  }

  /** Stops 7 to 10 for a worker, which retries later if a delivery would wait. `maxInFlight` does not apply: `concurrency` does. */
  work(key: string, event: ParsedEvent, route: Route, delivery: EventRequest): Promise<Tried> {
    return this.#try(new Run(this.#shared, key, event, route, delivery))
  }

  /**
   * Stops 7 and 10 for a worker that runs no handler, to read the marks of earlier tries: the event may become a dead letter, which keeps
   * them. Returns the given outcome, unless the event is done, busy or cannot be claimed.
   */
  recall(key: string, { id, type, accountKey }: TakenItem, outcome: Outcome, delivery: EventRequest): Promise<Tried> {
    const event = { id, type, accountKey, timestamp: '', data: {} }
    const run = new Run(this.#shared, key, event, NO_ROUTE, delivery)
    run.refusal = outcome
    return this.#try(run)
  }

  async #try(run: Run): Promise<Tried> {
    const { key, event } = run
    const refused = this.#find(key) === undefined ? this.#refuse(key, event, false) : toOutcome('busy', event)
    if (refused !== undefined) return { outcome: refused, marks: run.marks }
    const outcome = await this.#start(run)
    return { outcome, marks: run.marks }
  }

  #refuse(key: string, event: ParsedEvent, needsPlace = true): Outcome | undefined {
    if (this.#isBeginning(key)) return toOutcome('busy', event) // sent by its own handler
    if (this.#shared.isClosing) return toOutcome('closing', event)
    return needsPlace && this.#isFull(event.accountKey) ? toOutcome('overloaded', event) : undefined
  }

  #start(run: Run): Outcome | Promise<Outcome> {
    const running = runEvent(this.#shared, run)
    // Synchronous stores and handlers are done by now: the run needs no place in the map.
    if (run.outcome !== undefined) return run.outcome
    this.#add(run)
    run.ended = this.#finish(run, running)
    return run.wait(run.first)
  }

  /** Returns true if a handler of this event is being begun, or if `event` is a copy that one of its handlers got. */
  isWithin(key: string, event: object): boolean {
    if (this.#isBeginning(key)) return true
    return this.#byKey.get(key)?.hasGiven(event) === true
  }

  #isBeginning(key: string): boolean {
    return this.#shared.beginning.some((run) => run.key === key)
  }

  async #finish(run: Run, running: Promise<Outcome>): Promise<void> {
    const outcome = await running
    this.#remove(run)
    run.answerAll(outcome)
    // Spreading widens the union.
    if (run.wasLate) this.#shared.reporter.outcome({ ...outcome, late: true } as Outcome, run.first)
  }

  #add(run: Run): void {
    this.#shared.activity.begin()
    run.hasPlace = true
    this.#byKey.set(run.key, run)
    this.#sizeByAccount.set(run.accountKey, this.#sizeOf(run.accountKey) + 1)
  }

  /** Does nothing for a run that was cut off, whose place another run of its key may have. */
  #remove(run: Run): void {
    if (!run.hasPlace) return
    run.hasPlace = false
    if (this.#byKey.get(run.key) === run) this.#byKey.delete(run.key)
    const size = this.#sizeOf(run.accountKey) - 1
    if (size > 0) this.#sizeByAccount.set(run.accountKey, size)
    else this.#sizeByAccount.delete(run.accountKey)
    this.#shared.activity.end()
  }

  #sizeOf(accountKey: string): number {
    return this.#sizeByAccount.get(accountKey) ?? 0
  }

  #find(key: string): Run | undefined {
    const run = this.#byKey.get(key)
    if (run === undefined || !run.isCutOff) return run
    this.#drop(run)
    return undefined
  }

  #isFull(accountKey: string): boolean {
    if (this.#hasPlaceFor(accountKey)) return false
    const now = this.#shared.settings.clock.monotonic()
    if (now - this.#sweptAt < SWEEP_MS) return true
    this.#sweptAt = now
    for (const run of this.#byKey.values()) if (run.isCutOff) this.#drop(run)
    return !this.#hasPlaceFor(accountKey)
  }

  #hasPlaceFor(accountKey: string): boolean {
    const { maxInFlight } = this.#shared.settings
    const free = maxInFlight - this.#byKey.size
    // Leaves at least one place to other accounts.
    const most = Math.min(SHARE_OF_FREE * free, Math.max(maxInFlight - 1, 1))
    return this.#sizeOf(accountKey) < most
  }

  /** Removes a run whose claim has expired as well. If it continues, the token of its claim fences it off. */
  #drop(run: Run): void {
    this.#remove(run)
    const message = `The handlers of ${quote(run.type)} were suspended until their claim had ended. If the host suspends the process after its answer, give the adapter a waitUntil, or do less in the handlers.`
    this.#shared.reporter.error(run.toError('handler_abandoned', message, run.handlerNames))
  }
}
