import type { Clock } from '../host/clock.ts'
import type { Logger } from '../host/logger.ts'

/** Event that was verified and acknowledged, and whose handlers run later. */
export interface InboxItem {
  /** Deduplication key: one event is one item, however often it is delivered. */
  readonly key: string
  /** Exact bytes of the body of its delivery. */
  readonly bytes: Uint8Array
  readonly accountKey: string
  readonly id: string
  readonly type: string
  /** First receipt of the event, in milliseconds since 1970. */
  readonly receivedAt: number
  /** Value of the adapter's `source` option. */
  readonly source?: string | undefined
  /** Lane of the item: an engine that keeps lanes runs one item of a lane at a time, in order of arrival. */
  readonly lane?: string | undefined
  /** Trace of its delivery, as W3C Trace Context headers. */
  readonly trace?: { readonly traceparent: string; readonly tracestate?: string | undefined } | undefined
}

/** Try of a worker. Times are milliseconds since 1970. */
export interface InboxTry {
  /** Number of the try, from 1, over all tries since the item was accepted. Those that ran nothing count once in a row. */
  readonly n: number
  readonly dueAt: number
  readonly startedAt: number
  readonly endedAt: number
  /** Code or name of the outcome, or the reason of a dead letter: `handler_failed`, `busy`, `crashed`. */
  readonly code: string
  /** Names of the handlers that threw, if any did. */
  readonly handlers?: readonly string[] | undefined
  /** Errors that they threw, or the message of another one, truncated to 1,000 characters. */
  readonly error?: string | undefined
  /** Process that ran the try, as `host:pid:random`. */
  readonly worker: string
}

/** State of an item; an item that is done is gone. `running`: a worker holds a lease of it that has not ended. `dead`: a dead letter. */
export type InboxState = 'waiting' | 'running' | 'dead'

/** Item with its state and its tries. */
export interface InboxEntry extends InboxItem {
  readonly state: InboxState
  /** Time at which it is due; for a dead letter, time at which it became one. In milliseconds since 1970. */
  readonly dueAt: number
  /** Time at which it was last accepted or replayed, in milliseconds since 1970. */
  readonly since: number
  /** Number of failed tries since then. A busy event or a store that is away does not count. */
  readonly failures: number
  /** Number of processes that died since then while they ran this item and nothing else. */
  readonly deaths: number
  /** Names of the handlers that had finished when it became a dead letter. */
  readonly marks: readonly string[]
  /** The last 20 tries, the oldest first. One that ran nothing, such as `busy`, stands for all of its kind that followed it. */
  readonly tries: readonly InboxTry[]
  /** Key of the item of its lane that it waits for. Only from `get`. */
  readonly behind?: string | undefined
}

/** Item of a list, which reads no bodies: `get` does. */
export type ListedEntry = Omit<InboxEntry, 'bytes'>

/** Item that a worker has taken. */
export type TakenItem = InboxEntry & {
  readonly worker: string
  /** True if it runs alone at first, since two or more processes died while they ran it. */
  readonly isSuspect?: boolean | undefined
  /** Aborts if the worker is closed and the item runs longer than the timeout of `close`. */
  readonly signal: AbortSignal
}

/** Next state of an item after a try. */
export type Settlement =
  | { readonly next: 'remove' }
  | {
      readonly next: 'wait'
      readonly afterMs: number
      /** True if the try counts as failed. */
      readonly isFailure: boolean
      /** Record of the try. Omitted if the try has not begun. */
      readonly tried?: InboxTry | undefined
      /** True if its handlers did not finish: a suspect stays one, and the item keeps its deaths. */
      readonly isUnproven?: boolean | undefined
      /** True if the others of its lane go on meanwhile. It joins the lane again when it is due. */
      readonly leavesLane?: boolean | undefined
    }
  | { readonly next: 'bury'; readonly marks: readonly string[]; readonly tried: InboxTry }

/** Number of items in each state. Counting stops at {@link MOST_COUNTED}, which means as many or more. */
export interface InboxCounts {
  /** Waiting items, including those to be retried, and those that wait for another item of their lane. */
  readonly waiting: number
  readonly running: number
  readonly dead: number
  /** Due time of the item that has waited longest, in milliseconds since 1970; undefined if none is due. */
  readonly oldestDueAt: number | undefined
  /** Number of waiting items that wait for another one of their lane: they are not due. Omitted by an engine without lanes. */
  readonly parked?: number | undefined
  /** Time since when the first of those could have run, in milliseconds since 1970. */
  readonly oldestParkedAt?: number | undefined
}

/** Limit of each count, since the cost of counting grows with the number of items. */
export const MOST_COUNTED = 10_000
/** Maximum number of entries on a page. */
export const MOST_LISTED = 1_000

/** A page of a list of items. */
export interface InboxPage {
  readonly entries: readonly ListedEntry[]
  /** Cursor to pass as `after` for the next page; undefined on the last page. */
  readonly next: string | undefined
}

/** The page to list. */
export type ListOptions = {
  /** `next` of the previous page. */
  readonly after?: string | undefined
  /** Number of entries on a page. Default 100, at most 1,000. */
  readonly limit?: number | undefined
}

/** Options of a worker of an engine. */
export type InboxWorkOptions = {
  /** The most items to run concurrently. */
  readonly concurrency: number
  /** Lease in milliseconds: if a worker does not renew the lease of an item for this long, another worker may take the item. */
  readonly leaseMs: number
  readonly clock: Clock
  /** Called with each error of the engine. The worker retries the operation. */
  readonly onError: (error: unknown) => void
  /** Called after the engine stored a settlement. */
  readonly onSettled: (item: TakenItem, settlement: Settlement) => void
  /** Called with an item whose lease expired before it was settled, and that another worker took. */
  readonly onStalled?: ((item: TakenItem) => void) | undefined
  /** Time for which the store keeps finish marks, in milliseconds: what cannot run until then becomes a dead letter. */
  readonly retentionMs?: number | undefined
  /** The most items to run in all. Default: no limit. */
  readonly max?: number | undefined
  /** Called at each poll when nothing runs and nothing can be taken, or may be run by `max`. */
  readonly onIdle?: (() => void) | undefined
}

/** A worker of an engine that takes items until it is closed. */
export type InboxLoop = {
  /**
   * Takes no more items, and waits for running ones. After `timeoutMs`, aborts them and waits as long again, for 1 to 8 s. Then makes what
   * still runs wait again, as if it had not been taken, within another second. Resolves with the number of items that still run.
   */
  close(timeoutMs: number): Promise<number>
}

/**
 * Stores accepted events on an engine until their handlers have succeeded. Every method is one atomic step, and any number of processes
 * may call them concurrently. They reject only if the engine cannot be reached or is full.
 */
export interface Inbox {
  /** Resolves when the item survives a crash. A waiting or running item of the key stays as it is; a dead letter waits again, as after `replay`. */
  put(item: InboxItem): void | Promise<void>

  /**
   * Runs items, `concurrency` at a time, and settles each as `run` says. `run` never rejects. An item whose process died runs again with
   * the others; from the second death on it is a suspect, which runs alone at first: `deaths` counts only deaths meanwhile. Accounts take turns.
   */
  work(run: (item: TakenItem) => Promise<Settlement>, options: InboxWorkOptions): InboxLoop

  counts(): Promise<InboxCounts>
  list(state: InboxState, options?: ListOptions): Promise<InboxPage>
  get(key: string): Promise<InboxEntry | undefined>

  /**
   * Makes a dead letter wait again, with no failed tries or deaths and with its finish marks. Makes an item that waits for a later try due
   * now; its failed tries stay counted. Returns false, and does nothing, if the item runs, is due, waits for another one of its lane, or is gone.
   */
  replay(key: string): Promise<boolean>

  /** Deletes an item that is not running. Returns false if there is none. */
  drop(key: string): Promise<boolean>

  /** True if it runs one item of a lane at a time. Without it, `createReceiver` refuses its option `lane`. */
  readonly keepsLanes?: boolean | undefined

  /** Options with which `postern inbox` opens this inbox, such as `['--sqlite', 'data/app.db']`. Logged: they contain no password. */
  readonly commandOptions?: readonly string[] | undefined

  /** Called once by each receiver that uses the inbox, so that the inbox can log warnings for the user. */
  reportTo?(logger: Logger): void
}
