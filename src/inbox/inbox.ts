import type { Clock } from '../host/clock.ts'
import type { Logger } from '../host/logger.ts'

/** An event that was verified and acknowledged, and whose handlers are to run later. */
export interface InboxItem {
  /** The key of its deduplication: one event is one item, however often it comes. */
  readonly key: string
  /** The body of its delivery, byte for byte. */
  readonly bytes: Uint8Array
  readonly accountKey: string
  readonly id: string
  readonly type: string
  /** When it was accepted, in milliseconds since 1970. */
  readonly receivedAt: number
  /** The value of the adapter's `source` option. */
  readonly source?: string | undefined
  /** The trace of its delivery, as the headers of W3C Trace Context. */
  readonly trace?: { readonly traceparent: string; readonly tracestate?: string } | undefined
}

/** One try of a worker. Times are milliseconds since 1970. */
export interface InboxTry {
  /** Counts from 1, over all tries since the item was accepted. */
  readonly n: number
  readonly dueAt: number
  readonly startedAt: number
  readonly endedAt: number
  /** The outcome's code or name, or why it became a dead letter: `handler_failed`, `busy`, `crashed`. */
  readonly code: string
  /** The message of what failed, cut to 1,000 characters. */
  readonly error?: string
  /** The process, as `host:pid:random`. */
  readonly worker: string
}

export type InboxState = 'waiting' | 'running' | 'dead'

/** An item with all that is known of it. */
export interface InboxEntry extends InboxItem {
  readonly state: InboxState
  /** When it is to run; for a dead letter, when it became one. In milliseconds since 1970. */
  readonly dueAt: number
  /** When it was accepted or replayed last, in milliseconds since 1970. */
  readonly since: number
  /** Failed tries since then. What was nobody's fault does not count: a busy event, a store that was away. */
  readonly failures: number
  /** How many processes died while they ran this item and nothing else. */
  readonly deaths: number
  /** Names of the handlers that had finished when it became a dead letter. */
  readonly marks: readonly string[]
  /** The last 20 tries, the oldest first. */
  readonly tries: readonly InboxTry[]
}

/** An item in the hands of a worker. */
export interface TakenItem extends InboxEntry {
  readonly worker: string
  /** Whether it runs alone, since its last worker died or stood still. */
  readonly isSuspect?: boolean
  /** Aborts if the worker is closed and the item has outlasted the time for that. */
  readonly signal: AbortSignal
}

/** What becomes of an item after a try. */
export type Settlement =
  | { readonly next: 'remove' }
  | {
      readonly next: 'wait'
      readonly afterMs: number
      /** Whether the try counts. */
      readonly isFailure: boolean
      /** Left out if it has not begun. */
      readonly tried?: InboxTry
      /** True if its handlers did not run to their end: an item that was to run alone still is, and keeps its deaths. */
      readonly isUnproven?: boolean
    }
  | { readonly next: 'bury'; readonly marks: readonly string[]; readonly tried: InboxTry }

/** How many items are in each state. Each is counted up to {@link MOST_COUNTED}, which stands for as many or more. */
export interface InboxCounts {
  /** Those to be retried included. */
  readonly waiting: number
  readonly running: number
  readonly dead: number
  /** Since when the item that has waited longest could have run, in milliseconds since 1970; undefined if none is due. */
  readonly oldestDueAt: number | undefined
}

/** Counting further would cost more the more there is. */
export const MOST_COUNTED = 10_000
/** Entries of a page at most. */
export const MOST_LISTED = 1_000
/** Tries that an item keeps. */
export const TRIES_KEPT = 20

export interface InboxPage {
  readonly entries: readonly InboxEntry[]
  /** Given as `after`, it leads to the next page; undefined on the last. */
  readonly next: string | undefined
}

export interface ListOptions {
  /** `next` of the page before. */
  readonly after?: string | undefined
  /** Default 100, at most 1,000. */
  readonly limit?: number
}

/** What a worker of an engine needs beside what it runs. */
export interface InboxWorkOptions {
  readonly concurrency: number
  /** An item whose worker has not been heard of for so long, in milliseconds, is given to another one. */
  readonly leaseMs: number
  readonly clock: Clock
  /** Called with what the engine did not do. It is tried again. */
  readonly onError: (error: unknown) => void
  /** Called once a settlement is on disk. */
  readonly onSettled: (item: TakenItem, settlement: Settlement) => void
  /** Called with an item whose lease had ended, and that another worker took, before it was settled. */
  readonly onStalled?: (item: TakenItem) => void
}

export interface InboxLoop {
  /**
   * Takes nothing more, and waits for what runs. What outlasts `timeoutMs` has its signal aborted, and is waited for until it is
   * settled, or a few seconds. Resolves with the number of items that still run.
   */
  close(timeoutMs: number): Promise<number>
}

/**
 * An inbox keeps accepted events on an engine until their handlers have succeeded. Every method is one atomic step; all may be called
 * by any number of processes at once. They reject only if the engine cannot be reached or has no room.
 */
export interface Inbox {
  /**
   * Resolves when the item survives a crash. An item of the same key that waits or runs stays as it is; a dead letter waits again, as
   * after `replay`.
   */
  put(item: InboxItem): void | Promise<void>

  /**
   * Runs items, `concurrency` at a time, and does with each what its settlement says. `run` never rejects. An item whose process died
   * runs once more with nothing beside it in its process; if that dies as well, `deaths` counts it. Accounts take turns.
   */
  work(run: (item: TakenItem) => Promise<Settlement>, options: InboxWorkOptions): InboxLoop

  counts(): Promise<InboxCounts>
  list(state: InboxState, options?: ListOptions): Promise<InboxPage>
  get(key: string): Promise<InboxEntry | undefined>

  /** Has a dead letter wait again, with fresh tries and the marks that it kept. Returns false if the key is no dead letter. */
  replay(key: string): Promise<boolean>

  /** Deletes an item that does not run. Returns false if there is none. */
  drop(key: string): Promise<boolean>

  /** The options by which `postern inbox` finds this inbox, such as `--sqlite data/app.db`. */
  readonly commandOptions?: string

  /** Called once by each receiver that stands on the inbox, so that it can report what its owner should know. */
  reportTo?(logger: Logger): void
}
