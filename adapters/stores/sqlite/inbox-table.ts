import {
  type InboxCounts,
  type InboxEntry,
  type InboxItem,
  type InboxPage,
  type InboxState,
  type InboxTry,
  type ListOptions,
  MOST_COUNTED,
  type Settlement,
  type Taken,
  type TakeRequest,
  TRIES_KEPT,
} from '../../../src/index.ts'
import { checkList } from '../check-list.ts'
import { prepareAll, type SqliteDatabase, type SqliteRow } from './database.ts'
import { Turns } from './turns.ts'

/**
 * The states of a row. Its rows are ordered by `position`, which has another meaning in each state: the turn of a ready row, the due time
 * of a delayed one, the end of a running one's lease, the time since when a suspect or dead one is in its state.
 */
const READY = 0
const DELAYED = 1
const RUNNING = 2
/** Its worker died: it runs once more, with nothing else at the same time. */
const SUSPECT = 3
const DEAD = 4

/** The most rows that one step makes ready: a hundred thousand due rows must not delay the first. */
const BATCH = 100
/** A lease that ends later than this from now was taken before the machine's clock was set back, and counts as ended. */
const LONGEST_LEASE_MS = 26_000

const STATES: Readonly<Record<InboxState, readonly number[]>> = {
  waiting: [SUSPECT, READY, DELAYED],
  running: [RUNNING],
  dead: [DEAD],
}

/** The table of an inbox and its steps. The steps that write must be called within a transaction that has the write lock. */
export class SqliteInboxTable {
  readonly #now: () => number
  readonly #statements: ReturnType<typeof prepare>
  readonly #turns: Turns

  /** @param name was checked: it is part of the statements */
  constructor(database: SqliteDatabase, name: string, now: () => number) {
    this.#now = now
    database.exec(createTables(name))
    this.#statements = prepare(database, name)
    this.#turns = new Turns(() => this.#statements.nextTurn.get()?.position)
  }

  /** Returns whether there is a new item to run. */
  put({ key, bytes, accountKey, id, type, receivedAt, source, trace }: InboxItem): boolean {
    const now = this.#now()
    const turn = this.#turns.next(accountKey, now)
    const traced = trace === undefined ? null : JSON.stringify(trace)
    const of = [key, accountKey, id, type, bytes, receivedAt, source ?? null, traced, now, turn, now] as const
    return Number(this.#statements.insert.run(...of).changes) === 1 || this.replay(key)
  }

  take({ worker, limit, leaseMs, isIdle }: TakeRequest): Taken {
    const now = this.#now()
    const { endLeases, dueRows, makeReady, hasSuspect, takeSuspect, takeReady } = this.#statements
    endLeases.run(now, worker, now, now + LONGEST_LEASE_MS, BATCH)
    for (const { seq = null, account } of dueRows.all(now, BATCH))
      makeReady.run(this.#turns.next(String(account), now), seq)
    if (hasSuspect.get() !== undefined) {
      const rows = isIdle ? takeSuspect.all(now + leaseMs, worker) : []
      return { items: rows.map(toEntry), hasSuspect: true }
    }
    return { items: takeReady.all(now + leaseMs, worker, limit).map(toEntry), hasSuspect: false }
  }

  renew(worker: string, leaseMs: number): void {
    this.#statements.renew.run(this.#now() + leaseMs, worker)
  }

  /** Returns whether the worker still held the item. */
  settle(item: InboxEntry, worker: string, settlement: Settlement): boolean {
    return Number(this.#runSettlement(item, worker, settlement).changes) === 1
  }

  #runSettlement({ key, tries: before }: InboxEntry, worker: string, settlement: Settlement) {
    const { remove, giveBack, bury, putOff } = this.#statements
    if (settlement.next === 'remove') return remove.run(key, worker)
    const now = this.#now()
    if (settlement.tried === undefined) return giveBack.run(now, now, key, worker)
    const tries = JSON.stringify([...before, settlement.tried].slice(-TRIES_KEPT))
    if (settlement.next === 'bury') return bury.run(now, now, JSON.stringify(settlement.marks), tries, key, worker)
    const dueAt = now + Math.ceil(settlement.afterMs)
    const kept = settlement.isUnproven === true ? 1 : 0
    return putOff.run(dueAt, dueAt, settlement.isFailure ? 1 : 0, tries, kept, kept, key, worker)
  }

  replay(key: string): boolean {
    const now = this.#now()
    return Number(this.#statements.replay.run(now, now, now, key).changes) === 1
  }

  drop(key: string): boolean {
    return Number(this.#statements.drop.run(key).changes) === 1
  }

  /** Deletes one batch of dead letters that are older than the given milliseconds. Returns how many. */
  sweepDead(olderThanMs: number): number {
    return Number(this.#statements.sweepDead.run(this.#now() - olderThanMs, BATCH).changes)
  }

  get(key: string): InboxEntry | undefined {
    const row = this.#statements.get.get(key)
    return row === undefined ? undefined : toEntry(row)
  }

  counts(): InboxCounts {
    const count = (state: InboxState) =>
      STATES[state].reduce((sum, number) => sum + Number(this.#statements.count.get(number, MOST_COUNTED)?.count), 0)
    const now = this.#now()
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
    const states = STATES[state]
    // A page begins after the last entry of the page before: its state, position and number.
    const isPlace = (text: string) => /^\d:-?\d+:\d+$/.test(text) && states.includes(Number(text[0]))
    const { limit, after } = checkList(state, options, isPlace)
    const [from = -1, position = 0, seq = 0] = after === '' ? [] : after.split(':').map(Number)
    const rows: SqliteRow[] = []
    for (const number of states.slice(Math.max(states.indexOf(from), 0))) {
      const start = number === from ? [position, seq] : [Number.MIN_SAFE_INTEGER, 0]
      rows.push(...this.#statements.page.all(number, ...start, limit + 1 - rows.length))
      if (rows.length > limit) break
    }
    const entries = rows.slice(0, limit)
    const last = entries.at(-1)
    const next = rows.length > limit && last ? `${last.state}:${last.position}:${last.seq}` : undefined
    return { entries: entries.map(toEntry), next }
  }
}

function createTables(name: string): string {
  return `CREATE TABLE IF NOT EXISTS ${name} (
  seq INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  account TEXT NOT NULL,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  bytes BLOB NOT NULL,
  received_at INTEGER NOT NULL,
  source TEXT,
  trace TEXT,
  since INTEGER NOT NULL,
  state INTEGER NOT NULL,
  position INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  worker TEXT,
  is_alone INTEGER NOT NULL DEFAULT 0,
  deaths INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  marks TEXT,
  tries TEXT
);
CREATE INDEX IF NOT EXISTS ${name}_order ON ${name} (state, position)`
}

function prepare(database: SqliteDatabase, name: string) {
  const some = (where: string) => `seq IN (SELECT seq FROM ${name} WHERE ${where} LIMIT ?)`
  const start = `UPDATE ${name} SET state = ${RUNNING}, position = ?, worker = ?, is_alone`
  const held = `key = ? AND state = ${RUNNING} AND worker = ?`
  return prepareAll(database, {
    nextTurn: `SELECT position FROM ${name} WHERE state = ${READY} ORDER BY position LIMIT 1`,
    insert: `INSERT INTO ${name} (key, account, id, type, bytes, received_at, source, trace, since, state, position, due_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ${READY}, ?, ?) ON CONFLICT (key) DO NOTHING`,
    // The worker that asks is excluded: it is alive, whatever delayed it.
    endLeases: `UPDATE ${name} SET state = ${SUSPECT}, position = ?, worker = NULL, deaths = deaths + is_alone, is_alone = 0
      WHERE ${some(`state = ${RUNNING} AND worker IS NOT ? AND (position < ? OR position > ?)`)}`,
    dueRows: `SELECT seq, account FROM ${name} WHERE state = ${DELAYED} AND position <= ? ORDER BY position LIMIT ?`,
    makeReady: `UPDATE ${name} SET state = CASE is_alone WHEN 1 THEN ${SUSPECT} ELSE ${READY} END,
      position = CASE is_alone WHEN 1 THEN due_at ELSE ? END, is_alone = 0 WHERE seq = ?`,
    hasSuspect: `SELECT 1 FROM ${name} WHERE state = ${SUSPECT} LIMIT 1`,
    takeSuspect: `${start} = 1 WHERE seq = (SELECT seq FROM ${name} WHERE state = ${SUSPECT} ORDER BY position LIMIT 1)
      RETURNING *`,
    takeReady: `${start} = 0 WHERE ${some(`state = ${READY} ORDER BY position`)} RETURNING *`,
    renew: `UPDATE ${name} SET position = ? WHERE state = ${RUNNING} AND worker = ?`,
    remove: `DELETE FROM ${name} WHERE ${held}`,
    putOff: `UPDATE ${name} SET state = ${DELAYED}, position = ?, due_at = ?, failures = failures + ?, tries = ?, worker = NULL,
      deaths = deaths * ?, is_alone = is_alone * ? WHERE ${held}`,
    // It has proven nothing: an item that must run alone still must.
    giveBack: `UPDATE ${name} SET state = CASE is_alone WHEN 1 THEN ${SUSPECT} ELSE ${DELAYED} END, position = ?, due_at = ?,
      worker = NULL, is_alone = 0 WHERE ${held}`,
    bury: `UPDATE ${name} SET state = ${DEAD}, position = ?, due_at = ?, marks = ?, tries = ?, worker = NULL WHERE ${held}`,
    replay: `UPDATE ${name} SET state = ${DELAYED}, position = ?, due_at = ?, since = ?, failures = 0, deaths = 0,
      is_alone = 0
      WHERE key = ? AND state = ${DEAD}`,
    drop: `DELETE FROM ${name} WHERE key = ? AND state <> ${RUNNING}`,
    sweepDead: `DELETE FROM ${name} WHERE ${some(`state = ${DEAD} AND position < ?`)}`,
    get: `SELECT * FROM ${name} WHERE key = ?`,
    count: `SELECT count(*) AS count FROM (SELECT 1 FROM ${name} WHERE state = ? LIMIT ?)`,
    oldest: `SELECT min(due_at) AS due_at FROM (
      SELECT * FROM (SELECT due_at FROM ${name} WHERE state = ${READY} ORDER BY position LIMIT ?) UNION ALL
      SELECT * FROM (SELECT due_at FROM ${name} WHERE state = ${SUSPECT} LIMIT ?) UNION ALL
      SELECT * FROM (SELECT due_at FROM ${name} WHERE state = ${DELAYED} AND position <= ? ORDER BY position LIMIT 1) UNION ALL
      SELECT due_at FROM ${name} WHERE state = ${RUNNING} AND position < ?)`,
    page: `SELECT * FROM ${name} WHERE state = ? AND (position, seq) > (?, ?) ORDER BY position, seq LIMIT ?`,
  })
}

function toEntry(row: SqliteRow): InboxEntry {
  const state = Number(row.state)
  return {
    key: String(row.key),
    bytes: row.bytes as Uint8Array, // the column holds nothing else
    accountKey: String(row.account),
    id: String(row.id),
    type: String(row.type),
    receivedAt: Number(row.received_at),
    ...(row.source === null ? {} : { source: String(row.source) }),
    ...(row.trace === null ? {} : { trace: readJson(row.trace) as InboxItem['trace'] }),
    state: state === RUNNING ? 'running' : state === DEAD ? 'dead' : 'waiting',
    dueAt: Number(row.due_at),
    since: Number(row.since),
    failures: Number(row.failures),
    deaths: Number(row.deaths),
    marks: toList<string>(row.marks),
    tries: toList<InboxTry>(row.tries),
  }
}

/** Only this file writes the lists. */
function toList<T>(text: SqliteRow[string] | undefined): readonly T[] {
  const list = readJson(text)
  return Array.isArray(list) ? list : []
}

/** A damaged value is omitted: one row must not keep the workers from all others. */
function readJson(text: SqliteRow[string] | undefined): unknown {
  try {
    return JSON.parse(String(text))
  } catch {
    return undefined
  }
}
