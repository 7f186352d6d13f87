/** Messages of the routes of an inbox, which the emulator and `postern inbox serve` have. */

/** A time by the clock of the receiver's machine, in ISO 8601; null if that of a damaged row is none. */
type InboxTime = string | null

/** The state of an accepted event. */
export type InboxStateName = 'waiting' | 'running' | 'dead'

/** Numbers of events in an inbox, by state. */
export interface InboxCountsShape {
  readonly waiting: number
  readonly running: number
  readonly dead: number
  /** Due time of the event that has waited longest; null if none is due. */
  readonly oldestDueAt: InboxTime
  /** Limit of each count. A count of this number means as many or more. */
  readonly countedTo: number
  /** True if events may be replayed and dropped. */
  readonly isWritable: boolean
}

/** An accepted event as one line of the list. */
export interface InboxRow {
  readonly key: string
  readonly state: InboxStateName
  readonly type: string
  readonly event: string
  readonly account: string
  readonly receivedAt: InboxTime
  /** Time at which it is due; for a dead letter, time at which it became one. */
  readonly dueAt: InboxTime
  readonly failures: number
  /** Number of tries since it was accepted. */
  readonly tried: number
  /** The outcome of the last try. */
  readonly last: { readonly code: string; readonly error: string | null; readonly handlers: readonly string[] } | null
  /** The type, and the first line of the last error: the same for all events that failed alike. Empty before the first try. */
  readonly cause: string
}

/** A page of the list. Dead letters come newest first, other events by the time at which they are due. */
export interface InboxRowPage {
  readonly rows: readonly InboxRow[]
  /** Position of the next page; null on the last one. */
  readonly next: string | null
  /** Number of events that match the query. */
  readonly matched: number
  /** False if the state has more events than are read, which the list leaves out. */
  readonly isWhole: boolean
  /** Types and accounts of all events of the state. */
  readonly types: readonly string[]
  readonly accounts: readonly string[]
  /** Causes of all events of the type and the account of the query, each with the first and the last time, the most frequent first. */
  readonly causes: readonly {
    readonly cause: string
    readonly count: number
    readonly first: InboxTime
    readonly last: InboxTime
  }[]
}

/** An accepted event with all of its tries, but without its body. */
export interface InboxDetail extends InboxRow {
  readonly since: InboxTime
  readonly deaths: number
  /** Handlers that had finished when it became a dead letter. */
  readonly marks: readonly string[]
  /** Tries of the workers. */
  readonly tries: readonly {
    readonly n: number
    readonly startedAt: InboxTime
    readonly endedAt: InboxTime
    readonly code: string
    readonly error?: string | undefined
    readonly worker: string
  }[]
  readonly source: string | null
  readonly trace: string | null
}

/** Reason of a failure in one line, with the names of the handlers that failed. Equal for all that failed alike. */
export interface Reason {
  readonly text: string
  readonly handlers: readonly string[]
}

/** Place of an accepted event in the inbox of its receiver: `gone` once it was handled, `dropped` by the user of the page. */
export interface Standing {
  readonly state: InboxStateName | 'gone' | 'dropped'
  readonly key: string
  readonly dueAt: string | null
  /** Number of failed tries since it was accepted or replayed, and of all tries. */
  readonly failures: number
  readonly tried: number
  /** Reason why the last try of a worker failed. */
  readonly reason: Reason | null
}
