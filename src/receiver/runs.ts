import type { TakenItem } from '../inbox/inbox.ts'
import type { Tried } from '../inbox/settle.ts'
import type { ParsedEvent } from '../protocol/envelope.ts'
import { type Outcome, toOutcome } from '../protocol/outcome.ts'
import { quote } from '../protocol/show.ts'
import type { Route } from './routes.ts'
import { type EventRequest, Run } from './run.ts'
import { runEvent } from './run-event.ts'
import type { Shared } from './shared.ts'

/** An account may hold this many times what is left: one alone gets four fifths, the next four fifths of the rest. */
const SHARE_OF_LEFT = 4
/** Part of `maxBufferedBytes` for events under way: a byte that is parsed can take 28 bytes of heap, as in `[[[[]]]]`. */
const PART_FOR_EVENTS = 1 / 4
/** Minimum time between two searches of a full receiver for runs that their host cut off, in milliseconds. */
const SWEEP_MS = 1_000
const NO_ROUTE: Route = { handlers: [], isOrdered: false, model: undefined, action: undefined, schema: undefined }

/** The events that run in this process: each runs once, and its duplicates wait for it. */
export class Runs {
  readonly #shared: Shared
  readonly #byKey = new Map<string, Run>()
  readonly #places: Shares
  readonly #bytes: Shares
  #sweptAt = Number.NEGATIVE_INFINITY

  constructor(shared: Shared) {
    this.#shared = shared
    const { maxInFlight, maxBufferedBytes } = shared.settings
    this.#places = new Shares(maxInFlight + 1) // the one that is always left is none
    this.#bytes = new Shares(Math.floor(maxBufferedBytes * PART_FOR_EVENTS))
  }

  /** Number of events that run, from the claim to the settling. */
  get size(): number {
    return this.#byKey.size
  }

  /** Resolves when the events that run now have ended. */
  async whenEnded(): Promise<void> {
    await Promise.all([...this.#byKey.values()].map(({ ended }) => ended))
  }

  /**
   * Stops 7 to 10: the delivery joins the run of its event, or starts one. Handlers may change `event`.
   *
   * @param text the JSON of the event, unless the app made it
   */
  answer(
    key: string,
    event: ParsedEvent,
    route: Route,
    delivery: EventRequest,
    text?: string,
  ): Outcome | Promise<Outcome> {
    const underWay = this.#find(key)
    if (underWay !== undefined) return underWay.wait(delivery)
    const run = new Run(this.#shared, key, event, route, delivery, text)
    return this.#refuse(run) ?? this.#start(run)
  }

  /**
   * Stops 7 to 10 for a worker, which retries later if a delivery would wait. Neither `maxInFlight` nor the limit of bytes applies, but
   * `concurrency`: an event that is put back would be read and parsed again.
   */
  work(key: string, event: ParsedEvent, route: Route, delivery: EventRequest, text: string): Promise<Tried> {
    return this.#try(new Run(this.#shared, key, event, route, delivery, text))
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
    const refused = this.#find(run.key) === undefined ? this.#refuse(run, false) : toOutcome('busy', run)
    if (refused !== undefined) return { outcome: refused, marks: run.marks }
    const outcome = await this.#start(run)
    return { outcome, marks: run.marks }
  }

  #refuse(run: Run, needsPlace = true): Outcome | undefined {
    if (this.#isBeginning(run.key)) return toOutcome('busy', run) // sent by its own handler
    if (this.#shared.isClosing) return toOutcome('closing', run)
    return needsPlace && this.#isFull(run) ? toOutcome('overloaded', run) : undefined
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
    this.#places.add(run.accountKey, 1)
    this.#bytes.add(run.accountKey, run.bytes)
  }

  /** Does nothing for a run that was cut off, whose place another run of its key may have. */
  #remove(run: Run): void {
    if (!run.hasPlace) return
    run.hasPlace = false
    if (this.#byKey.get(run.key) === run) this.#byKey.delete(run.key)
    this.#places.add(run.accountKey, -1)
    this.#bytes.add(run.accountKey, -run.bytes)
    this.#shared.activity.end()
  }

  #find(key: string): Run | undefined {
    const run = this.#byKey.get(key)
    if (run === undefined || !run.isCutOff) return run
    this.#drop(run)
    return undefined
  }

  #isFull({ accountKey, bytes }: Run): boolean {
    if (this.#hasRoomFor(accountKey, bytes)) return false
    const now = this.#shared.settings.clock.monotonic()
    if (now - this.#sweptAt < SWEEP_MS) return true
    this.#sweptAt = now
    for (const run of this.#byKey.values()) if (run.isCutOff) this.#drop(run)
    return !this.#hasRoomFor(accountKey, bytes)
  }

  #hasRoomFor(accountKey: string, bytes: number): boolean {
    const { size } = this.#byKey
    // The last of several places is for another account.
    if (size > 0 && size === this.#shared.settings.maxInFlight - 1 && this.#places.heldBy(accountKey) === size)
      return false
    return this.#places.hasRoom(accountKey, 1) && (bytes === 0 || this.#bytes.hasRoom(accountKey, bytes))
  }

  /** Removes a run whose claim has expired as well. If it continues, the token of its claim fences it off. */
  #drop(run: Run): void {
    this.#remove(run)
    const message = `The handlers of ${quote(run.type)} were suspended until their claim had ended. If the host suspends the process after its answer, give the adapter a waitUntil, or do less in the handlers.`
    this.#shared.reporter.error(run.toError('handler_abandoned', message, run.handlerNames))
  }
}

/** An amount that accounts share. */
class Shares {
  readonly #limit: number
  /** The most that one amount counts: any has room if little is held, and leaves some. */
  readonly #most: number
  readonly #held = new Map<string, number>()
  #total = 0

  constructor(limit: number) {
    this.#limit = limit
    this.#most = Math.floor(limit / 2)
  }

  heldBy(account: string): number {
    return this.#held.get(account) ?? 0
  }

  hasRoom(account: string, amount: number): boolean {
    const more = Math.min(amount, this.#most)
    return this.heldBy(account) + more <= SHARE_OF_LEFT * (this.#limit - this.#total - more)
  }

  /** @param amount negative if it is returned */
  add(account: string, amount: number): void {
    const more = Math.max(Math.min(amount, this.#most), -this.#most)
    const held = this.heldBy(account) + more
    this.#total += more
    if (held > 0) this.#held.set(account, held)
    else this.#held.delete(account)
  }
}
