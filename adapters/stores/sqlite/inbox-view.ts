import {
  type InboxCounts,
  type InboxEntry,
  type InboxPage,
  type InboxState,
  type ListOptions,
  MOST_COUNTED,
} from '../../../src/index.ts'
import { checkList } from '../check-list.ts'
import type { SqliteDatabase, SqliteRow, SqliteValue } from './database.ts'
import { resultCodeOf } from './faults.ts'
import { toEntry, toListed } from './inbox-rows.ts'
import { DEAD, DELAYED, prepareReads, READY, RUNNING, SUSPECT } from './inbox-statements.ts'

/** Stands for running rows whose lease has ended: their items wait. */
const LAPSED = 5
/** Lists that hold the rows of each state, in the order in which they run. */
const LINES: Readonly<Record<InboxState, readonly number[]>> = {
  waiting: [SUSPECT, READY, DELAYED, LAPSED],
  running: [RUNNING],
  dead: [DEAD],
}

/** Reads items, outside of transactions. */
export class SqliteInboxView {
  readonly #now: () => number
  readonly #statements: ReturnType<typeof prepareReads>

  /**
   * @param name was checked: it is part of the statements
   * @param now the wall clock, in milliseconds
   */
  constructor(database: SqliteDatabase, name: string, now: () => number) {
    this.#now = now
    this.#statements = prepareReads(database, name)
  }

  get(key: string): InboxEntry | undefined {
    const row = this.#statements.get.get(key)
    if (row?.seq === undefined) return undefined
    const isRunning = row.state === RUNNING && Number(row.position) >= this.#now()
    return toEntry(row, this.#bodyOf(row.seq), isRunning ? 'running' : row.state === DEAD ? 'dead' : 'waiting')
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
    const countLine = (line: number) => Number(this.#statements.count.get(...rangeOf(line, now), MOST_COUNTED)?.count)
    const count = (state: InboxState) => LINES[state].reduce((sum, line) => sum + countLine(line), 0)
    const oldest = this.#statements.oldest.get(MOST_COUNTED, MOST_COUNTED, now, now)?.due_at
    return {
      waiting: Math.min(count('waiting'), MOST_COUNTED),
      running: count('running'),
      dead: count('dead'),
      oldestDueAt: oldest === undefined || oldest === null ? undefined : Number(oldest),
    }
  }

  /** @throws ConfigurationError `option_invalid` */
  list(state: InboxState, options: ListOptions): InboxPage {
    const lines = LINES[state]
    // A page begins after the last entry of the page before: its line, position and number.
    const isPlace = (text: string) => /^\d:-?\d+:\d+$/.test(text) && lines.includes(Number(text[0]))
    const { limit, after } = checkList(state, options, isPlace)
    const [from = -1, position = 0, seq = 0] = after === '' ? [] : after.split(':').map(Number)
    const now = this.#now()
    const rows: { readonly line: number; readonly row: SqliteRow }[] = []
    for (const line of lines.slice(Math.max(lines.indexOf(from), 0))) {
      const start = line === from ? [position, seq] : [Number.MIN_SAFE_INTEGER, 0]
      const page = this.#statements.page.all(...rangeOf(line, now), ...start, limit + 1 - rows.length)
      rows.push(...page.map((row) => ({ line, row })))
      if (rows.length > limit) break
    }
    const kept = rows.slice(0, limit)
    const last = kept.at(-1)
    const next = rows.length > limit && last ? `${last.line}:${last.row.position}:${last.row.seq}` : undefined
    return { entries: kept.map(({ row }) => toListed(row, state)), next }
  }
}

/** Returns the state of a line's rows, and their first and last position. */
function rangeOf(line: number, now: number): readonly [state: number, first: number, last: number] {
  const [first, last] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]
  if (line === LAPSED) return [RUNNING, first, now - 1]
  return line === RUNNING ? [RUNNING, now, last] : [line, first, last]
}
