import {
  type InboxCounts,
  type InboxEntry,
  type InboxItem,
  type InboxPage,
  type InboxState,
  type ListOptions,
  MOST_COUNTED,
  type Settlement,
  type Taken,
  type TakeRequest,
  TRIES_KEPT,
} from '../../../src/index.ts'
import { checkList } from '../check-list.ts'
import { prepareAll, type SqliteDatabase, type SqliteRow } from './database.ts'
import { toEntry, toListed } from './inbox-rows.ts'
import { Turns } from './turns.ts'

/**
 * The states of a row. Its rows are ordered by `position`, which has another meaning in each state: the turn of a ready row, the due time
 * of a delayed one, the end of a running one's lease, the time since when a suspect or dead one is in its state.
 */
const READY = 0
const DELAYED = 1
const RUNNING = 2
/** Two or more workers died while they ran it: it runs alone at first. */
const SUSPECT = 3
const DEAD = 4

/** The most rows that one step makes ready: a hundred thousand due rows must not delay the first. */
const BATCH = 100
/** A lease that ends later than this from now was taken before the machine's clock was set back, and counts as ended. */
const LONGEST_LEASE_MS = 26_000

/** Stands for running rows whose lease has ended: their items wait. */
const LAPSED = 5
/** Lists that hold the rows of each state, in the order in which they run. */
const LINES: Readonly<Record<InboxState, readonly number[]>> = {
  waiting: [SUSPECT, READY, DELAYED, LAPSED],
  running: [RUNNING],
  dead: [DEAD],
}

/** The tables of an inbox and its steps. The steps that write must be called within a transaction that has the write lock. */
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
    const of = [key, accountKey, id, type, receivedAt, source ?? null, traced, now, turn, now] as const
    if (Number(this.#statements.insert.run(...of).changes) === 0) return this.replay(key)
    this.#statements.insertBody.run(bytes, key)
    return true
  }

  take(request: TakeRequest): Taken {
    const { worker, limit, leaseMs, suspects } = request
    const now = this.#now()
    const { endLeases, dueRows, makeReady, join, takeReady } = this.#statements
    this.#revive(worker, leaseMs)
    if (suspects === 'join') join.run(worker)
    endLeases.run(now, leaseMs, worker, now, now + LONGEST_LEASE_MS, BATCH)
    for (const { seq = null, account } of dueRows.all(now, BATCH))
      makeReady.run(this.#turns.next(String(account), now), seq)
    const taken = suspects === 'take' || suspects === 'await' ? this.#takeSuspect(request, now) : undefined
    return taken ?? { items: takeReady.all(now + leaseMs, worker, now, limit).map((row) => toEntry(row, 'running')) }
  }

  /** Returns undefined if no suspect is due, or another worker has its turn with one. */
  #takeSuspect({ worker, leaseMs, suspects }: TakeRequest, now: number): Taken | undefined {
    const { nextSuspect, isOneAlone, takeSuspect, awaitSuspect } = this.#statements
    const next = nextSuspect.get()
    if (next?.seq === undefined || isOneAlone.get(now) !== undefined) return undefined
    if (suspects === 'take') {
      const items = takeSuspect.all(now + leaseMs, worker, now, next.seq).map((row) => toEntry(row, 'running'))
      return { items, ranMs: Number(next.ran_ms) }
    }
    // A worker that died meanwhile makes no room: another one does after a lease.
    const isFree = next.worker === null || Math.abs(now - Number(next.taken_at)) > leaseMs
    if (isFree) awaitSuspect.run(worker, now, next.seq)
    return isFree || next.worker === worker ? { items: [], isAwaited: true } : undefined
  }

  renew(worker: string, leaseMs: number): void {
    this.#revive(worker, leaseMs)
    this.#statements.renew.run(this.#now() + leaseMs, worker)
  }

  /** A worker that asks is alive: it still holds what no other has taken, and has caused no loss. */
  #revive(worker: string, leaseMs: number, key: string | null = null): void {
    this.#statements.revive.run(this.#now() + leaseMs, worker, key)
  }

  /** Returns whether the worker still held the item. */
  settle(item: InboxEntry, worker: string, settlement: Settlement): boolean {
    this.#revive(worker, 0, item.key)
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
    return Number(this.#statements.drop.run(key, this.#now()).changes) === 1
  }

  /** Deletes one batch of dead letters that are older than the given milliseconds. Returns how many. */
  sweepDead(olderThanMs: number): number {
    return Number(this.#statements.sweepDead.run(this.#now() - olderThanMs, BATCH).changes)
  }

  get(key: string): InboxEntry | undefined {
    const row = this.#statements.get.get(key)
    if (row === undefined) return undefined
    const isRunning = row.state === RUNNING && Number(row.position) >= this.#now()
    return toEntry(row, isRunning ? 'running' : row.state === DEAD ? 'dead' : 'waiting')
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

/** Bodies have a table of their own: a row is written often, and its body once. */
function createTables(name: string): string {
  return `CREATE TABLE IF NOT EXISTS ${name} (
  seq INTEGER PRIMARY KEY, -- of its body, too
  key TEXT NOT NULL UNIQUE,
  account TEXT NOT NULL,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  source TEXT,
  trace TEXT,
  since INTEGER NOT NULL,
  state INTEGER NOT NULL,
  position INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  worker TEXT,
  taken_at INTEGER,
  ran_ms INTEGER,
  is_alone INTEGER NOT NULL DEFAULT 0,
  lost_by TEXT,
  was_alone INTEGER NOT NULL DEFAULT 0,
  losses INTEGER NOT NULL DEFAULT 0,
  deaths INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  marks TEXT,
  tries TEXT
);
CREATE INDEX IF NOT EXISTS ${name}_order ON ${name} (state, position);
CREATE INDEX IF NOT EXISTS ${name}_lost ON ${name} (lost_by) WHERE lost_by IS NOT NULL;
CREATE TABLE IF NOT EXISTS ${name}_bodies (seq INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TRIGGER IF NOT EXISTS ${name}_gone AFTER DELETE ON ${name} BEGIN
  DELETE FROM ${name}_bodies WHERE seq = OLD.seq;
END`
}

function prepare(database: SqliteDatabase, name: string) {
  const some = (where: string) => `seq IN (SELECT seq FROM ${name} WHERE ${where} LIMIT ?)`
  const start = `UPDATE ${name} SET state = ${RUNNING}, position = ?, worker = ?, taken_at = ?`
  const free = 'worker = NULL, is_alone = 0, lost_by = NULL'
  const whole = `*, (SELECT bytes FROM ${name}_bodies b WHERE b.seq = ${name}.seq) AS bytes`
  const inLine = 'state = ? AND position BETWEEN ? AND ?'
  const held = `key = ? AND state = ${RUNNING} AND worker = ?`
  return prepareAll(database, {
    nextTurn: `SELECT position FROM ${name} WHERE state = ${READY} ORDER BY position LIMIT 1`,
    insert: `INSERT INTO ${name} (key, account, id, type, received_at, source, trace, since, state, position, due_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ${READY}, ?, ?) ON CONFLICT (key) DO NOTHING`,
    insertBody: `INSERT INTO ${name}_bodies (seq, bytes) SELECT seq, ? FROM ${name} WHERE key = ?`,
    // The worker that asks is excluded: it is alive, whatever delayed it.
    endLeases: `UPDATE ${name} SET state = CASE losses WHEN 0 THEN ${DELAYED} ELSE ${SUSPECT} END,
      position = CASE losses WHEN 0 THEN due_at ELSE ? END, ran_ms = max(position - ? - taken_at, 0), losses = losses + 1,
      deaths = deaths + is_alone, was_alone = is_alone, is_alone = 0, lost_by = worker, worker = NULL
      WHERE ${some(`state = ${RUNNING} AND worker IS NOT ? AND (position < ? OR position > ?)`)}`,
    // Nobody took it, so that it runs on; or another worker runs it as well.
    revive: `UPDATE ${name} SET position = CASE state WHEN ${RUNNING} THEN position ELSE ? END,
      worker = CASE state WHEN ${RUNNING} THEN worker ELSE lost_by END,
      is_alone = CASE state WHEN ${RUNNING} THEN is_alone ELSE was_alone END,
      state = ${RUNNING}, losses = losses - 1, deaths = deaths - was_alone, lost_by = NULL
      WHERE lost_by = ? AND key = coalesce(?, key)`,
    dueRows: `SELECT seq, account FROM ${name} WHERE state = ${DELAYED} AND position <= ? ORDER BY position LIMIT ?`,
    makeReady: `UPDATE ${name} SET state = CASE WHEN losses > 1 THEN ${SUSPECT} ELSE ${READY} END,
      position = CASE WHEN losses > 1 THEN due_at ELSE ? END WHERE seq = ?`,
    nextSuspect: `SELECT seq, worker, taken_at, ran_ms FROM ${name} WHERE state = ${SUSPECT} ORDER BY position LIMIT 1`,
    isOneAlone: `SELECT 1 FROM ${name} WHERE state = ${RUNNING} AND position >= ? AND is_alone = 1 LIMIT 1`,
    takeSuspect: `${start}, is_alone = 1 WHERE seq = ? RETURNING ${whole}`,
    awaitSuspect: `UPDATE ${name} SET worker = ?, taken_at = ? WHERE seq = ?`,
    takeReady: `${start} WHERE ${some(`state = ${READY} ORDER BY position`)} RETURNING ${whole}`,
    renew: `UPDATE ${name} SET position = ? WHERE state = ${RUNNING} AND worker = ?`,
    join: `UPDATE ${name} SET is_alone = 0 WHERE state = ${RUNNING} AND worker = ? AND is_alone = 1`,
    remove: `DELETE FROM ${name} WHERE ${held}`,
    putOff: `UPDATE ${name} SET state = ${DELAYED}, position = ?, due_at = ?, failures = failures + ?, tries = ?,
      losses = losses * ?, deaths = deaths * ?, ${free} WHERE ${held}`,
    giveBack: `UPDATE ${name} SET state = ${DELAYED}, position = ?, due_at = ?, ${free} WHERE ${held}`,
    bury: `UPDATE ${name} SET state = ${DEAD}, position = ?, due_at = ?, marks = ?, tries = ?, ${free} WHERE ${held}`,
    replay: `UPDATE ${name} SET state = ${DELAYED}, position = ?, due_at = ?, since = ?, failures = 0, losses = 0, deaths = 0
      WHERE key = ? AND state = ${DEAD}`,
    drop: `DELETE FROM ${name} WHERE key = ? AND NOT (state = ${RUNNING} AND position >= ?)`,
    sweepDead: `DELETE FROM ${name} WHERE ${some(`state = ${DEAD} AND position < ?`)}`,
    get: `SELECT ${whole} FROM ${name} WHERE key = ?`,
    count: `SELECT count(*) AS count FROM (SELECT 1 FROM ${name} WHERE ${inLine} LIMIT ?)`,
    oldest: `SELECT min(due_at) AS due_at FROM (
      SELECT * FROM (SELECT due_at FROM ${name} WHERE state = ${READY} ORDER BY position LIMIT ?) UNION ALL
      SELECT * FROM (SELECT due_at FROM ${name} WHERE state = ${SUSPECT} LIMIT ?) UNION ALL
      SELECT * FROM (SELECT due_at FROM ${name} WHERE state = ${DELAYED} AND position <= ? ORDER BY position LIMIT 1) UNION ALL
      SELECT due_at FROM ${name} WHERE state = ${RUNNING} AND position < ?)`,
    page: `SELECT * FROM ${name} WHERE ${inLine} AND (position, seq) > (?, ?) ORDER BY position, seq LIMIT ?`,
  })
}

/** Returns the state of a line's rows, and their first and last position. */
function rangeOf(line: number, now: number): readonly [state: number, first: number, last: number] {
  const [first, last] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]
  if (line === LAPSED) return [RUNNING, first, now - 1]
  return line === RUNNING ? [RUNNING, now, last] : [line, first, last]
}
