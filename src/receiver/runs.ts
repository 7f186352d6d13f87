import type { TakenItem } from '../inbox/inbox.ts'
import type { Tried } from '../inbox/settle.ts'
import type { ParsedEvent } from '../protocol/envelope.ts'
import { type Outcome, toOutcome, toOverloaded } from '../protocol/outcome.ts'
import { quote } from '../protocol/show.ts'
import type { ReceiverSettings } from './options.ts'
import type { Route } from './routes.ts'
import { type EventRequest, Run, type RunResult } from './run.ts'
import { runEvent } from './run-event.ts'
import type { Shared } from './shared.ts'
import { Waiters } from './waiters.ts'

/** Minimum time between two searches of a full receiver for runs that their host cut off, in milliseconds. */
const SWEEP_MS = 1_000
const NO_ROUTE: Route = { handlers: [], isOrdered: false, model: undefined, action: undefined, schema: undefined }

/** The events that run in this process: each runs once, and its duplicates wait for it. */
export class Runs {
  readonly #shared: Shared
  readonly #byKey = new Map<string, Waiters>()
  /** Runs that hold a place, even if another run has taken their key: a hook may send the event again. */
  readonly #placed = new Set<Waiters>()
  readonly #room: Room
  #sweptAt = Number.NEGATIVE_INFINITY

  constructor(shared: Shared) {
    this.#shared = shared
    this.#room = new Room(shared.settings)
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
    if (underWay !== undefined) return underWay.join(delivery)
    const run = new Run(key, event, route, delivery, text)
    const refused = this.#refuse(run)
    if (refused !== undefined) return refused
    const waiters = new Waiters(this.#shared, run)
    void this.#start(waiters)
    // Synchronous stores and handlers are done by now, and nobody waits.
    return run.state.at === 'ended' ? run.state.result.outcome : waiters.join(delivery)
  }

  /**
   * Stops 7 to 10 for a worker. If the event runs already, the worker retries later. `concurrency` is the only limit: refusing an event that
   * was read and parsed would only have it read and parsed again.
   */
  work(key: string, event: ParsedEvent, route: Route, delivery: EventRequest, text: string): Promise<Tried> {
    return this.#try(new Run(key, event, route, delivery, text))
  }

  /**
   * Stops 7 and 10 without handlers: claims the event to read the marks of earlier tries, which a dead letter keeps. Returns the given outcome,
   * unless the event is done, busy or cannot be claimed.
   */
  recall({ key, id, type, accountKey }: TakenItem, outcome: Outcome, delivery: EventRequest): Promise<Tried> {
    const event = { id, type, accountKey, timestamp: '', data: {} }
    return this.#try(new Run(key, event, NO_ROUTE, delivery), outcome)
  }

  async #try(run: Run, refusal?: Outcome): Promise<Tried> {
    const refused = this.#find(run.key) === undefined ? this.#refuse(run, false) : toOutcome('busy', run)
    if (refused !== undefined) return { outcome: refused, marks: run.first.item?.marks ?? [] }
    return this.#start(new Waiters(this.#shared, run), refusal)
  }

  #refuse(run: Run, needsPlace = true): Outcome | undefined {
    if (this.#isBeginning(run.key)) return toOutcome('busy', run) // sent by its own handler
    if (this.#shared.isClosing) return toOutcome('closing', run)
    const reason = needsPlace ? this.#whyFull(run) : undefined
    return reason === undefined ? undefined : toOverloaded(503, reason, run)
  }

  /** A run that is synchronous to its end needs no place. */
  #start(waiters: Waiters, refusal?: Outcome): Promise<RunResult> {
    const running = runEvent(this.#shared, waiters, refusal)
    if (waiters.run.state.at === 'ended') return running
    this.#add(waiters)
    const ended = this.#removeAtEnd(waiters, running)
    waiters.follow(ended)
    return ended
  }

  async #removeAtEnd(waiters: Waiters, running: Promise<RunResult>): Promise<RunResult> {
    const result = await running
    this.#remove(waiters)
    return result
  }

  /** Returns true if a handler of this event is being begun, or if `event` is a copy that one of its handlers got. */
  isWithin(key: string, event: object): boolean {
    return this.#isBeginning(key) || this.#byKey.get(key)?.run.hasGiven(event) === true
  }

  #isBeginning(key: string): boolean {
    return this.#shared.beginning.some((run) => run.key === key)
  }

  #add(waiters: Waiters): void {
    this.#shared.activity.begin()
    this.#byKey.set(waiters.run.key, waiters)
    this.#placed.add(waiters)
    this.#room.add(waiters.run)
  }

  /** Does nothing for a run that was dropped before. */
  #remove(waiters: Waiters): void {
    const { run } = waiters
    if (!this.#placed.delete(waiters)) return
    if (this.#byKey.get(run.key) === waiters) this.#byKey.delete(run.key)
    this.#room.remove(run)
    this.#shared.activity.end()
  }

  #find(key: string): Waiters | undefined {
    const underWay = this.#byKey.get(key)
    if (underWay === undefined || !underWay.isCutOff) return underWay
    this.#drop(underWay)
    return undefined
  }

  #whyFull(run: Run): string | undefined {
    const reason = this.#room.whyNone(run)
    const now = this.#shared.settings.clock.monotonic()
    if (reason === undefined || now - this.#sweptAt < SWEEP_MS) return reason
    this.#sweptAt = now
    for (const waiters of this.#byKey.values()) if (waiters.isCutOff) this.#drop(waiters)
    return this.#room.whyNone(run)
  }

  /** Removes a run that its host has suspended. Its claim has expired: if it continues, the store refuses its token. */
  #drop(waiters: Waiters): void {
    const { run } = waiters
    this.#remove(waiters)
    const message = `The handlers of ${quote(run.type)} were suspended until their claim had ended. If the host suspends the process after its answer, give the adapter a waitUntil, or do less in the handlers.`
    this.#shared.reporter.error(run.toError('handler_abandoned', message, run.handlerNames))
  }
}

/** At most four times the free places: of 1,000, the first account gets 800, the second 160. */
const SHARE_OF_LEFT = 4
/** Part of `maxBufferedBytes` for events under way. A byte that is parsed can take 50 bytes of heap, as in `{"34":{"34":…`, which makes arrays of 35 places. */
const PART_FOR_EVENTS = 1 / 4
/** Part of the room for events that accounts share, for all but the largest event of each. */
const SHARED_PART = 1 / 2
/** Part of the room for events that the largest event of an account counts at most. Without it, an event with many handlers would never be accepted. */
const MOST_FOR_LARGEST = 1 / 6
/** Part of the room for events up to which an event is small. Large events leave room for small ones. */
const MOST_FOR_SMALL = 1 / 64

/** An event that needs room. */
interface Load {
  readonly accountKey: string
  /** Bytes of its text, once for each copy; 0 for an event that the app made. */
  readonly bytes: number
}

/** Events of an account that are under way. */
interface Held {
  readonly loads: number[]
  sum: number
  largest: number
}

const NOTHING: Readonly<Held> = { loads: [], sum: 0, largest: 0 }

/**
 * The room for events under way: places, and bytes. The largest event of each account is counted apart, at a limited size; the bytes of all
 * others come out of a room that accounts share.
 */
export class Room {
  readonly #places: number
  readonly #bytes: number
  #count = 0
  /** Bytes of all events but the largest of each account. */
  #shared = 0
  /** Bytes that count for the largest event of each account. */
  #apart = 0
  readonly #byAccount = new Map<string, Held>()

  constructor({ maxInFlight, maxBufferedBytes }: Pick<ReceiverSettings, 'maxInFlight' | 'maxBufferedBytes'>) {
    this.#places = maxInFlight
    this.#bytes = maxBufferedBytes * PART_FOR_EVENTS
  }

  /** Returns why an event has no room, and what its owner can do; undefined if it has. */
  whyNone({ accountKey, bytes }: Load): string | undefined {
    const held = this.#byAccount.get(accountKey) ?? NOTHING
    if (!this.#hasPlace(held.loads.length))
      return `${this.#count} events are under way, ${held.loads.length} of its account: maxInFlight (${this.#places}) allows no more, and an account no more than four fifths of it. Make the handlers faster, or raise maxInFlight.`
    if (bytes === 0 || this.#hasBytes(held, bytes)) return undefined
    return `The event needs ${bytes} bytes (its length × its handlers, and once more for a schema), ${held.sum} are in use by its account and ${this.#shared + this.#apart} by all. A quarter of maxBufferedBytes (${this.#bytes / PART_FOR_EVENTS}) allows no more. Make the handlers faster or fewer, or raise maxBufferedBytes.`
  }

  #hasPlace(held: number): boolean {
    // The last of several places is for another account.
    if (held > 0 && held === this.#count && held === this.#places - 1) return false
    return held < SHARE_OF_LEFT * (this.#places - this.#count)
  }

  #hasBytes({ sum, largest }: Readonly<Held>, bytes: number): boolean {
    const more = Math.min(bytes, largest)
    const apart = this.#apart - this.#toApart(largest) + this.#toApart(Math.max(bytes, largest))
    const shared = this.#shared + more
    if (shared + apart > this.#bytes) return false
    if (bytes > this.#bytes * MOST_FOR_SMALL && apart > this.#bytes * (1 - SHARED_PART)) return false
    // Twice, so that large events leave room for small ones.
    return sum - largest + 2 * more <= SHARE_OF_LEFT * (this.#bytes * SHARED_PART - shared - more)
  }

  add({ accountKey, bytes }: Load): void {
    const held = this.#byAccount.get(accountKey) ?? { loads: [], sum: 0, largest: 0 }
    this.#byAccount.set(accountKey, held)
    held.loads.push(bytes)
    this.#count++
    this.#change(held, bytes, Math.max(held.largest, bytes))
  }

  remove({ accountKey, bytes }: Load): void {
    const held = this.#byAccount.get(accountKey)
    if (held === undefined) return
    const { loads, largest } = held
    loads.splice(loads.indexOf(bytes), 1)
    this.#count--
    this.#change(held, -bytes, bytes < largest ? largest : loads.reduce((most, other) => Math.max(most, other), 0))
    if (loads.length === 0) this.#byAccount.delete(accountKey)
  }

  #change(held: Held, more: number, largest: number): void {
    this.#shared += more - largest + held.largest
    this.#apart += this.#toApart(largest) - this.#toApart(held.largest)
    held.sum += more
    held.largest = largest
  }

  #toApart(largest: number): number {
    return Math.min(largest, Math.floor(this.#bytes * MOST_FOR_LARGEST))
  }
}
