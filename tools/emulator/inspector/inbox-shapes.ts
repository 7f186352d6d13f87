import type { Row } from '../contract.ts'

/** Messages of the routes of an inbox, which the emulator and `postern inbox serve` have. */

/** A time by the clock of the receiver's machine, in ISO 8601; null if that of a damaged row is none. */
type InboxTime = string | null

/** The number of dead letters, and whether the page may change the inbox. */
export interface InboxCountsShape {
  readonly dead: number
  /** True if events may be replayed and dropped. */
  readonly isWritable: boolean
}

/** Accepted events whose handlers have not succeeded, as lines of the list, the newest first. */
export interface InboxRows {
  /** Names these rows: a page that has them already gets no rows. */
  readonly tag: string
  readonly rows?: readonly Row[]
  /** False if a state has more events than are read, which the list leaves out. */
  readonly isWhole: boolean
}

/** An accepted event with all of its tries, but without its body. */
export interface InboxDetail {
  readonly row: Row
  readonly receivedAt: InboxTime
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
