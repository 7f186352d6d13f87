import {
  type InboxCounts,
  type InboxEntry,
  type InboxPage,
  type InboxState,
  type ListOptions,
  MOST_COUNTED,
} from '../../../src/engine.ts'
import { DEAD, DELAYED, LAPSED, listLines, PARKED, READY, RUNNING, SUSPECT } from '../inbox-lines.ts'
import { prepareAll, type SqliteDatabase, type SqliteValue, type Statements } from './database.ts'
import { resultCodeOf } from './faults.ts'
import { toEntry, toListed } from './inbox-rows.ts'
import { READS } from './inbox-statements.ts'

/** Reads items, outside of transactions. */
export class SqliteInboxView {
  readonly #now: () => number
  readonly #statements: Statements<typeof READS>

  /**
   * @param name was checked: it is part of the statements
   * @param now the wall clock, in milliseconds
   */
  constructor(database: SqliteDatabase, name: string, now: () => number) {
    this.#now = now
    this.#statements = prepareAll(database, name, READS)
  }

  get(key: string): InboxEntry | undefined {
    const row = this.#statements.get.get(key)
    if (row?.seq === undefined) return undefined
    const isRunning = row.state === RUNNING && Number(row.position) >= this.#now()
    const entry = toEntry(row, this.#bodyOf(row.seq), isRunning ? 'running' : row.state === DEAD ? 'dead' : 'waiting')
    const head = row.state === PARKED ? this.#statements.headOf.get(row.lane ?? null) : undefined
    return head === undefined ? entry : { ...entry, behind: String(head.key) }
  }

  /** Returns null if it cannot be read. Not for a transaction. */
  #bodyOf(seq: SqliteValue): SqliteValue {
    try {
      return this.#statements.body.get(seq)?.bytes ?? null
    } catch (error) {
      if (resultCodeOf(error) === 'SQLITE_CORRUPT') return null
      throw error
    }
  }

  counts(): InboxCounts {
    const now = this.#now()
    const count = (...lines: readonly number[]) => {
      const counts = lines.map((line) => this.#statements.count.get(...rangeOf(line, now), MOST_COUNTED)?.count)
      return counts.reduce<number>((sum, one) => sum + Number(one), 0)
    }
    const oldest = this.#statements.oldest.get(MOST_COUNTED, MOST_COUNTED, now, now)?.due_at
    const oldestParked = this.#statements.oldestParked.get()?.due_at
    return {
      waiting: Math.min(count(SUSPECT, READY, DELAYED, PARKED, LAPSED), MOST_COUNTED),
      running: count(RUNNING),
      dead: count(DEAD),
      oldestDueAt: toTime(oldest),
      parked: count(PARKED),
      oldestParkedAt: toTime(oldestParked),
    }
  }

  /** @throws ConfigurationError `option_invalid` */
  list(state: InboxState, options: ListOptions): Promise<InboxPage> {
    const now = this.#now()
    return listLines(state, options, {
      read: (line, ...after) => this.#statements.page.all(...rangeOf(line, now), ...after),
      placeOf: ({ position, seq }) => [position, seq],
      toListed: (row) => toListed(row, state),
    })
  }
}

function toTime(value: SqliteValue | undefined): number | undefined {
  return value === undefined || value === null ? undefined : Number(value)
}

/** Returns the state of a line's rows, and their first and last position. */
function rangeOf(line: number, now: number): readonly [state: number, first: number, last: number] {
  const [first, last] = [0, Number.MAX_SAFE_INTEGER]
  if (line === LAPSED) return [RUNNING, first, now - 1]
  return line === RUNNING ? [RUNNING, now, last] : [line, first, last]
}
