import type { Claim, Position } from '../../../src/engine.ts'
import { BUSY, DONE, leaseLost, NO_MARKS, outdated } from '../claims.ts'
import {
  forTable,
  prepareAll,
  type SqliteDatabase,
  type SqliteRow,
  type SqliteValue,
  type Statements,
} from './database.ts'

/** A lease that began further in the future than this was taken before the machine's clock was set back, and counts as ended. */
const CLOCK_SLACK_MS = 1_000
/** Rows that are checked for each claim: with two, expired rows never fill more than half of the table. */
const SWEPT_PER_CLAIM = 2

interface Entry {
  readonly isDone: boolean
  /** The last token: a lease that has ended keeps its token until another process claims the event. */
  readonly token: string | null
  readonly leasedAt: number
  readonly leasedUntil: number
  /** Names of handlers that finished; the texts that a done event was completed with. */
  readonly marks: readonly string[]
}

/** The state of an event that nobody holds. */
const FREE: Entry = { isDone: false, token: null, leasedAt: 0, leasedUntil: 0, marks: NO_MARKS }

/** The table of events and its steps. All but `tryWriting` must be called within a transaction that has the write lock. */
export class EventsTable {
  readonly #database: SqliteDatabase
  readonly #retentionMs: number
  readonly #now: () => number
  readonly #statements: Statements<typeof STEPS>
  #unswept = 0

  /** @param name has been checked: it is part of the statements */
  constructor(database: SqliteDatabase, name: string, retentionMs: number, now: () => number) {
    this.#retentionMs = retentionMs
    this.#now = now
    this.#database = database
    database.exec(forTable(name, TABLES))
    this.#statements = prepareAll(database, name, STEPS)
  }

  /** Throws if the database cannot be written. Changes nothing. */
  tryWriting(): void {
    this.#database.transaction(() => this.#statements.finish.run(0, null, '', ''))
  }

  claim(key: string, token: string, leaseMs: number, positionKeys?: readonly string[]): Claim {
    const now = this.#now()
    const found = positionKeys && { positions: positionKeys.map((one) => this.#positionOf(one, now)) }
    this.#unswept += SWEPT_PER_CLAIM
    const isNew = this.#statements.insert.run(key, 0, now + this.#retentionMs, token, now, now + leaseMs, null).changes
    if (Number(isNew) === 1) return { state: 'claimed', token, marks: NO_MARKS, ...found }
    const entry = this.#read(key, now)
    if (isHeld(entry, now)) return BUSY
    if (entry?.isDone === true) return entry.marks.length === 0 ? DONE : { state: 'done', by: entry.marks }
    const marks = entry?.marks ?? NO_MARKS
    this.#put(key, now, { isDone: false, token, leasedAt: now, leasedUntil: now + leaseMs, marks })
    return { state: 'claimed', token, marks, ...found }
  }

  renew(
    key: string,
    token: string,
    leaseMs: number,
    marks: readonly string[],
    positions?: readonly Position[],
  ): boolean {
    const now = this.#now()
    this.keepPositions(positions)
    const entry = this.#read(key, now)
    if (isHeldByAnother(entry, token, now) || entry?.isDone === true) return false
    const known = union(entry?.marks, marks)
    this.#put(key, now, { isDone: false, token, leasedAt: now, leasedUntil: now + leaseMs, marks: known })
    return true
  }

  complete(key: string, token: string, positions?: readonly Position[], by: readonly string[] = NO_MARKS): boolean {
    const now = this.#now()
    this.keepPositions(positions)
    if (Number(this.#statements.finish.run(now + this.#retentionMs, toText(by), key, token).changes) === 1) return true
    if (isHeldByAnother(this.#read(key, now), token, now)) return false
    this.#put(key, now, { ...FREE, isDone: true, marks: by })
    return true
  }

  /** Returns whether the event was known. */
  forget(key: string): boolean {
    const now = this.#now()
    const entry = this.#read(key, now)
    if (entry === undefined || isHeld(entry, now)) return false
    this.#statements.forget.run(key)
    return entry.isDone || entry.marks.length > 0
  }

  release(key: string, token: string, marks: readonly string[], positions?: readonly Position[]): boolean {
    const now = this.#now()
    this.keepPositions(positions)
    const entry = this.#read(key, now)
    if (isHeldByAnother(entry, token, now)) return false
    if (entry?.isDone === true) return true
    const known = union(entry?.marks, marks)
    if (entry === undefined && known.length === 0) return true
    this.#put(key, now, { ...FREE, marks: known })
    return true
  }

  /** Stores positions unless later ones are stored. A position is stored as the token, in the row of an event that is done. */
  keepPositions(positions: readonly Position[] = []): void {
    const now = this.#now()
    this.#unswept += SWEPT_PER_CLAIM * positions.length
    for (const position of positions)
      if (!this.#hasLater(position, now))
        this.#put(position.key, now, { ...FREE, isDone: true, token: String(position.at) })
  }

  /** Throws `event_outdated` if a later position is stored. */
  checkPosition(position: Position): void {
    if (this.#hasLater(position, this.#now())) throw outdated()
  }

  #hasLater({ key, at }: Position, now: number): boolean {
    return (this.#positionOf(key, now) ?? at) > at
  }

  /** Returns the position of a record for a handler; undefined if it has expired. */
  #positionOf(key: string, now: number): number | undefined {
    const row = this.#statements.select.get(key)
    return row !== undefined && Number(row.kept_until) >= now ? Number(row.token) : undefined
  }

  /** Records that a handler has finished. `entry` was read in the same transaction. */
  mark(key: string, entry: Entry, mark: string): void {
    this.#put(key, this.#now(), { ...entry, marks: [...entry.marks, mark] })
  }

  /** Returns the state of the event. Throws `lease_lost` if the claim was not the last, or the handler has finished. */
  checkClaim(key: string, token: string, mark: string): Entry {
    const entry = this.#read(key, this.#now())
    if (entry === undefined || entry.isDone || entry.token !== token || entry.marks.includes(mark)) throw leaseLost()
    return entry
  }

  /** Deletes expired rows among the next rows in the order of keys: as many rows are checked as the claims since then require. */
  sweep(): void {
    if (this.#unswept === 0) return
    const now = this.#now()
    const from = String(this.#statements.sweptTo.get()?.swept_to ?? '')
    const last = this.#statements.nthKey.get(from, this.#unswept - 1)?.key
    this.#unswept = 0
    // Keys are printable ASCII or digests: only foreign keys sort behind this.
    const to = typeof last === 'string' ? last : '\u{10ffff}'
    this.#statements.sweepRange.run(from, to, now, now)
    this.#statements.noteSwept.run(typeof last === 'string' ? last : '')
  }

  /** Returns undefined also for an expired row. */
  #read(key: string, now: number): Entry | undefined {
    const row = this.#statements.select.get(key)
    if (row === undefined) return undefined
    const entry = toEntry(row)
    return Number(row.kept_until) >= now || entry.leasedUntil > now ? entry : undefined
  }

  #put(key: string, now: number, { isDone, token, leasedAt, leasedUntil, marks }: Entry): void {
    const until = now + this.#retentionMs
    this.#statements.write.run(key, isDone ? 1 : 0, until, token, leasedAt, leasedUntil, toText(marks))
  }
}

/** The second table has the sweep's progress: short-lived processes would never reach the last key. */
const TABLES = `CREATE TABLE IF NOT EXISTS @table (
  key TEXT NOT NULL PRIMARY KEY,
  is_done INTEGER NOT NULL,
  kept_until INTEGER NOT NULL,
  token TEXT,
  leased_at INTEGER NOT NULL,
  leased_until INTEGER NOT NULL,
  marks TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS @table_swept (id INTEGER PRIMARY KEY CHECK (id = 1), swept_to TEXT NOT NULL)`

const STEPS = {
  insert: `INSERT INTO @table (key, is_done, kept_until, token, leased_at, leased_until, marks) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (key) DO NOTHING`,
  write: `INSERT INTO @table (key, is_done, kept_until, token, leased_at, leased_until, marks) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET is_done = excluded.is_done, kept_until = excluded.kept_until, token = excluded.token,
    leased_at = excluded.leased_at, leased_until = excluded.leased_until, marks = excluded.marks`,
  select: 'SELECT key, is_done, kept_until, token, leased_at, leased_until, marks FROM @table WHERE key = ?',
  finish: `UPDATE @table SET is_done = 1, kept_until = ?, token = NULL, leased_at = 0, leased_until = 0, marks = ?
    WHERE key = ? AND token = ?`,
  forget: 'DELETE FROM @table WHERE key = ?',
  nthKey: 'SELECT key FROM @table WHERE key > ? ORDER BY key LIMIT 1 OFFSET ?',
  sweepRange: 'DELETE FROM @table WHERE key > ? AND key <= ? AND kept_until < ? AND leased_until < ?',
  sweptTo: 'SELECT swept_to FROM @table_swept',
  noteSwept: 'INSERT INTO @table_swept VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET swept_to = excluded.swept_to',
}

function toEntry(row: SqliteRow): Entry {
  return {
    isDone: Number(row.is_done) === 1,
    token: typeof row.token === 'string' ? row.token : null,
    leasedAt: Number(row.leased_at),
    leasedUntil: Number(row.leased_until),
    marks: typeof row.marks === 'string' ? JSON.parse(row.marks) : NO_MARKS,
  }
}

function toText(marks: readonly string[]): SqliteValue {
  return marks.length === 0 ? null : JSON.stringify(marks)
}

function isHeld(entry: Entry | undefined, now: number): boolean {
  return entry !== undefined && entry.leasedUntil > now && entry.leasedAt <= now + CLOCK_SLACK_MS
}

function isHeldByAnother(entry: Entry | undefined, token: string, now: number): boolean {
  return entry?.token !== token && isHeld(entry, now)
}

function union(known: readonly string[] | undefined, more: readonly string[]): readonly string[] {
  return known === undefined ? [...new Set(more)] : [...new Set([...known, ...more])]
}
