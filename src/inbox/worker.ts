import type { Clock } from '../host/clock.ts'
import type { Complete } from '../host/complete.ts'
import { PosternError } from '../protocol/errors.ts'
import { quote } from '../protocol/show.ts'
import type { Inbox, InboxItem, InboxLoop, InboxWorkOptions, Settlement, TakenItem } from './inbox.ts'
import type { Retries } from './retries.ts'
import { MOST_DEATHS, type Tried, toSettlement } from './settle.ts'
import { type TryLine, toTryLine } from './try-line.ts'

/** Parts of its receiver that a worker needs. Times in milliseconds. */
export interface WorkerParts
  extends Complete<Pick<InboxWorkOptions, 'onSettled' | 'onStalled'>>,
    Pick<InboxWorkOptions, 'max' | 'onIdle'> {
  readonly inbox: Inbox
  readonly retries: Retries
  readonly clock: Clock
  readonly leaseMs: number
  readonly retentionMs: number
  /** Called when it is told to close. */
  readonly onClosing?: () => void
  /** Claims the event and runs its handlers. Never rejects. */
  run(item: TakenItem): Promise<Tried>
  /** Claims the event, runs nothing and releases it, to read the marks in the store. Never rejects. */
  recall(item: TakenItem): Promise<Tried>
  report(error: PosternError): void
  /** Logs a line about a try. */
  tell(line: TryLine): void
  onDeadLetter(item: InboxItem, error: PosternError): void
}

/** Minimum time between two log lines about a failing engine, in milliseconds. */
const QUIET_MS = 60_000

/** Runs the handlers of the items in an inbox, by the rules of `settle.ts`. */
export class Worker {
  readonly #parts: WorkerParts
  readonly #loop: InboxLoop
  /** Tries that make an item a dead letter, until that is stored and reported. */
  readonly #last = new WeakMap<TakenItem, Tried>()
  #toldAt = Number.NEGATIVE_INFINITY
  /** The last call of `close`. */
  #closing: Promise<number> | undefined

  constructor(parts: WorkerParts) {
    this.#parts = parts
    const { inbox, retries, leaseMs, retentionMs, clock, max, onIdle } = parts
    this.#loop = inbox.work((item) => this.#run(item), {
      concurrency: retries.concurrency,
      leaseMs,
      retentionMs,
      clock,
      onError: (error) => this.#tellFailure(error),
      onSettled: (item, settlement) => this.#onSettled(item, settlement),
      onStalled: (item) => this.#onStalled(item),
      ...(max !== undefined && { max }),
      ...(onIdle && { onIdle }),
    })
  }

  get closing(): Promise<number> | undefined {
    return this.#closing
  }

  /** Resolves with the number of events that still run. */
  close(timeoutMs: number): Promise<number> {
    this.#parts.onClosing?.()
    this.#closing = this.#loop.close(timeoutMs)
    return this.#closing
  }

  async #run(item: TakenItem): Promise<Settlement> {
    const { clock, run, recall } = this.#parts
    const startedAt = clock.now()
    const tried = await (item.deaths >= MOST_DEATHS ? recall(item) : run(item))
    const settlement = toSettlement(item, tried, startedAt, clock.now(), this.#parts)
    if (settlement.next === 'bury') this.#last.set(item, tried)
    else this.#tell(item, tried, settlement)
    return settlement
  }

  #onSettled(item: TakenItem, settlement: Settlement): void {
    this.#parts.onSettled(item, settlement)
    if (settlement.next === 'bury') this.#tell(item, this.#last.get(item), settlement)
  }

  #tell(item: TakenItem, tried: Tried | undefined, settlement: Settlement): void {
    const { retries, inbox, tell, onDeadLetter } = this.#parts
    const { attempts } = retries
    const line = toTryLine(item, tried, settlement, { attempts, commandOptions: inbox.commandOptions })
    if (line !== undefined) tell(line)
    if (line?.deadLetter !== undefined) onDeadLetter(item, line.deadLetter)
  }

  #onStalled(item: TakenItem): void {
    const { onStalled, tell } = this.#parts
    const { id, type, accountKey } = item
    onStalled(item)
    const message = `${quote(type)} ${quote(id)} was taken by another worker: this process stood still for longer than leaseMs, and its try does not count. Move blocking work off the event loop.`
    tell({ level: 'warn', message, fields: { code: 'lease_lost', id, type, accountKey } })
  }

  /** Logs a failure of the engine, at most once a minute: an engine that is away fails at every poll. */
  #tellFailure(cause: unknown): void {
    const now = this.#parts.clock.monotonic()
    if (now - this.#toldAt < QUIET_MS) return
    this.#toldAt = now
    const message =
      'The inbox failed or cannot be reached. Its events are kept, and the worker tries again every second.'
    this.#parts.report(new PosternError('inbox_unavailable', message, { cause }))
  }
}
