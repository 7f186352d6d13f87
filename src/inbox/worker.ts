import type { Clock } from '../host/clock.ts'
import type { Complete } from '../host/complete.ts'
import { PosternError } from '../protocol/errors.ts'
import { quote } from '../protocol/show.ts'
import type { Inbox, InboxItem, InboxWorkOptions, Settlement, TakenItem } from './inbox.ts'
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

export interface Worker {
  /** The last call of `close`. */
  readonly closing: Promise<number> | undefined
  /** Resolves with the number of events that still run. */
  close(timeoutMs: number): Promise<number>
}

/** Starts to run the handlers of the items in an inbox, by the rules of `settle.ts`. */
export function startWorker(parts: WorkerParts): Worker {
  const { inbox, retries, leaseMs, retentionMs, clock, max, onIdle } = parts
  /** Tries that make an item a dead letter, until that is stored and reported. */
  const last = new WeakMap<TakenItem, Tried>()
  let toldAt = Number.NEGATIVE_INFINITY
  let closing: Promise<number> | undefined
  const tell = (item: TakenItem, tried: Tried | undefined, settlement: Settlement) => {
    const { attempts } = retries
    const line = toTryLine(item, tried, settlement, { attempts, commandOptions: inbox.commandOptions })
    if (line !== undefined) parts.tell(line)
    if (line?.deadLetter !== undefined) parts.onDeadLetter(item, line.deadLetter)
  }
  const run = async (item: TakenItem) => {
    const startedAt = clock.now()
    const tried = await (item.deaths >= MOST_DEATHS ? parts.recall(item) : parts.run(item))
    const settlement = toSettlement(item, tried, startedAt, clock.now(), parts)
    if (settlement.next === 'bury') last.set(item, tried)
    else tell(item, tried, settlement)
    return settlement
  }
  const loop = inbox.work(run, {
    concurrency: retries.concurrency,
    leaseMs,
    retentionMs,
    clock,
    /** Logs a failure of the engine, at most once a minute: an engine that is away fails at every poll. */
    onError(cause) {
      const now = clock.monotonic()
      if (now - toldAt < QUIET_MS) return
      toldAt = now
      const message =
        'The inbox failed or cannot be reached. Its events are kept, and the worker tries again every second.'
      parts.report(new PosternError('inbox_unavailable', message, { cause }))
    },
    onSettled(item, settlement) {
      parts.onSettled(item, settlement)
      if (settlement.next === 'bury') tell(item, last.get(item), settlement)
    },
    onStalled(item) {
      const { id, type, accountKey } = item
      parts.onStalled(item)
      const message = `${quote(type)} ${quote(id)} was taken by another worker: this process stood still for longer than leaseMs, and its try does not count. Move blocking work off the event loop.`
      parts.tell({ level: 'warn', message, fields: { code: 'lease_lost', id, type, accountKey } })
    },
    max,
    onIdle,
  })
  return {
    get closing() {
      return closing
    },
    close(timeoutMs) {
      parts.onClosing?.()
      closing = loop.close(timeoutMs)
      return closing
    },
  }
}
