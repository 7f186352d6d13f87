import type { Clock } from '../host/clock.ts'
import type { Complete } from '../host/complete.ts'
import { PosternError } from '../protocol/errors.ts'
import { quote, toShellWord } from '../protocol/show.ts'
import type { Inbox, InboxItem, InboxLoop, InboxWorkOptions, Settlement, TakenItem } from './inbox.ts'
import type { Retries } from './retries.ts'
import { MOST_DEATHS, type Tried, toSettlement } from './settle.ts'

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
  onDeadLetter(item: InboxItem, error: PosternError): void
}

/** Minimum time between two log lines about a failing engine, in milliseconds. */
const QUIET_MS = 60_000

/** Runs the handlers of the items in an inbox, by the rules of `settle.ts`. */
export class Worker {
  readonly #parts: WorkerParts
  readonly #loop: InboxLoop
  /** Errors by which handlers made an item a dead letter, until that is stored and reported. */
  readonly #causes = new WeakMap<TakenItem, unknown>()
  #toldAt = Number.NEGATIVE_INFINITY
  /** The last call of `close`. */
  #closing: Promise<number> | undefined

  constructor(parts: WorkerParts) {
    this.#parts = parts
    const { inbox, retries, leaseMs, clock, max, onIdle } = parts
    this.#loop = inbox.work((item) => this.#run(item), {
      concurrency: retries.concurrency,
      leaseMs,
      clock,
      onError: (error) => this.#tellFailure(error),
      onSettled: (item, settlement) => this.#onSettled(item, settlement),
      onStalled: parts.onStalled,
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
    const isGivenUp = settlement.next === 'bury' && settlement.tried.code === 'dead_letter'
    if (isGivenUp && tried.outcome.outcome === 'failed') this.#causes.set(item, tried.outcome.error.cause)
    return settlement
  }

  #onSettled(item: TakenItem, settlement: Settlement): void {
    const { inbox, report, onDeadLetter, onSettled } = this.#parts
    onSettled(item, settlement)
    if (settlement.next !== 'bury') return
    const { code, n } = settlement.tried
    // The sender chooses the id of the event, and the user may copy the line into a shell.
    const args = [item.key, ...(inbox.commandOptions ?? [])].map(toShellWord).join(' ')
    const command = (name: string) => `postern inbox ${name} ${args}`
    // The author of a handler wrote the text of its DeadLetter. Other errors are left out: an issue of a schema quotes the record.
    const cause = this.#causes.get(item)
    const why = `${quote(item.type)} ${quote(item.id)} is a dead letter after ${n} ${n === 1 ? 'try' : 'tries'} (${code}).`
    const told = new PosternError(
      'dead_letter',
      `${why} To look at it: ${command('show')}. To try again: ${command('replay')}.`,
      cause === undefined ? {} : { cause },
    )
    report(told)
    onDeadLetter(item, told)
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
