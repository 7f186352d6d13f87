import {
  ConfigurationError,
  type InboxEntry,
  type InboxItem,
  keepTry,
  type Settlement,
  type Taken,
  type TakeRequest,
} from '../../../src/engine.ts'
import { BATCH, BATCH_OF_ACCOUNT, LANES_A_LOOK, MOST_BYTES } from '../inbox-lines.ts'
import {
  forTable,
  prepareAll,
  type SqliteDatabase,
  type SqliteRow,
  type SqliteValue,
  type Statements,
} from './database.ts'
import { resultCodeOf } from './faults.ts'
import { toEntry, toListed } from './inbox-rows.ts'
import { LANE_INDEX, STEPS, TABLES } from './inbox-statements.ts'
import { LANE_PARTS, LANES } from './lanes.ts'
import { Turns } from './turns.ts'

/** A lease that ends later than this from now was taken before the machine's clock was set back, and counts as ended. */
const LONGEST_LEASE_MS = 26_000

/** The tables of an inbox and its steps. The steps that write must be called within a transaction that has the write lock. */
export class SqliteInboxTable {
  readonly #now: () => number
  readonly #statements: Statements<typeof STEPS>
  readonly #createLanes: () => void
  /** True once the triggers are on disk. */
  #keepsLanes = false
  readonly #turns: Turns
  /** The numbers of rows on or beside a damaged page. The step that finds one fails, and the next ones leave it out. */
  readonly #damaged = new Set<SqliteValue>()
  /** The number of a row whose body is on one, until it is set aside. */
  #bodiless: SqliteValue | undefined
  /** The last account whose due rows were looked for by account. */
  #account = ''
  /** The last lane that was looked at. */
  #lane = ''
  #wasSetBack = true

  /**
   * @param name was checked: it is part of the statements
   * @param now the wall clock, in milliseconds
   */
  constructor(database: SqliteDatabase, name: string, now: () => number) {
    this.#now = now
    createTables(database, name)
    this.#createLanes = () => database.exec(forTable(name, LANES))
    this.#statements = prepareAll(database, name, STEPS)
    this.#turns = new Turns(() => this.#statements.nextTurn.get()?.position)
  }

  /** Called after the commit of an item that has a lane. */
  onLaneKept(): void {
    this.#keepsLanes = true
  }

  /** Returns whether there is a new item to run. */
  put({ key, bytes, accountKey, id, type, receivedAt, source, trace, lane }: InboxItem): boolean {
    if (lane !== undefined && !this.#keepsLanes) this.#createLanes()
    const now = this.#now()
    const turn = this.#turns.next(accountKey, now)
    const traced = trace === undefined ? null : JSON.stringify(trace)
    const of = [key, accountKey, id, type, receivedAt, source ?? null, traced, lane ?? null, now, turn, now] as const
    if (Number(this.#statements.insert.run(...of).changes) === 0) return this.#reviveDead(key, now)
    this.#statements.insertBody.run(bytes, key)
    return true
  }

  take(request: TakeRequest): Taken {
    const { worker, limit, leaseMs, suspects } = request
    const now = this.#now()
    const { endLeases, join, ready } = this.#statements
    this.#revive(worker, leaseMs)
    if (suspects === 'join') join.run(worker)
    endLeases.run(now, leaseMs, worker, now, now + LONGEST_LEASE_MS, BATCH)
    if (this.#wasSetBack) this.#wasSetBack = this.#bringForward(now)
    this.#makeDueReady(now)
    const taken = suspects === 'take' || suspects === 'await' ? this.#takeSuspect(request, now) : undefined
    if (taken !== undefined) return taken
    const seqs = this.#readable(ready.all(limit + this.#damaged.size)).slice(0, limit)
    const items: InboxEntry[] = []
    let bytes = 0
    for (const seq of seqs) {
      if (bytes >= MOST_BYTES) return { items, isCut: true }
      const started = this.#start(seq, false, request, now)
      for (const item of started) bytes += item.bytes.length
      items.push(...started)
    }
    return { items }
  }

  /** Called when the wall clock was set back. */
  onSetBack(): void {
    this.#wasSetBack = true
  }

  /** No retry is due later than after its delay. Returns true if there may be more. */
  #bringForward(now: number): boolean {
    return Number(this.#statements.bringForward.run(now, now, now, now, BATCH).changes) === BATCH
  }

  /** If more are due than one step makes ready, those of an account do not keep the others waiting. */
  #makeDueReady(now: number): void {
    const { due, dueByAccount, rowOf, makeReady } = this.#statements
    const rows = due.all(now, BATCH + this.#damaged.size)
    const more = rows.length < BATCH ? [] : dueByAccount.all(this.#account, BATCH, now, BATCH_OF_ACCOUNT)
    this.#account = String(more.at(-1)?.account ?? '')
    for (const seq of this.#readable([...more, ...rows])) {
      const place = () => this.#turns.next(String(rowOf.get(seq)?.account), now)
      this.#orNote(
        () => makeReady.run(place(), seq),
        () => this.#damaged.add(seq),
      )
    }
  }

  /** Returns undefined if no suspect is due, or another worker has its turn with one. */
  #takeSuspect(request: TakeRequest, now: number): Taken | undefined {
    const { worker, leaseMs, suspects } = request
    const { nextSuspect, isOneAlone, awaitSuspect } = this.#statements
    const next = nextSuspect.get()
    if (next?.seq === undefined || isOneAlone.get(now) !== undefined) return undefined
    if (suspects === 'take') {
      const items = this.#start(next.seq, true, request, now)
      return items.length === 0 ? undefined : { items, ranMs: Number(next.ran_ms) }
    }
    // A worker that died meanwhile makes no room: another one does after a lease.
    const isFree = next.worker === null || Math.abs(now - Number(next.taken_at)) > leaseMs
    if (isFree) awaitSuspect.run(worker, now, next.seq)
    return isFree || next.worker === worker ? { items: [], isAwaited: true } : undefined
  }

  #start(seq: SqliteValue, isAlone: boolean, { worker, leaseMs }: TakeRequest, now: number): readonly InboxEntry[] {
    const { start, body } = this.#statements
    const begin = () => start.all(now + leaseMs, worker, now, isAlone ? 1 : 0, seq)
    const [row] = this.#orNote(begin, () => this.#damaged.add(seq))
    if (row === undefined) this.#damaged.add(seq) // an index has it, and the table does not
    if (row === undefined) return []
    const readBody = () => {
      const { bytes } = body.get(seq) ?? {}
      if (bytes === undefined)
        throw Object.assign(new Error('The body of an event is gone.'), { code: 'SQLITE_CORRUPT' })
      return bytes
    }
    const noteBody = () => {
      this.#bodiless = seq
    }
    return [toEntry(row, this.#orNote(readBody, noteBody), 'running')]
  }

  /** Makes a dead letter of the item whose body `take` could not read. Returns its key. */
  setAside(worker: string): string | undefined {
    const seq = this.#bodiless
    this.#bodiless = undefined
    if (seq === undefined) return undefined
    const { rowOf, setAside } = this.#statements
    const [row, now] = [rowOf.get(seq), this.#now()]
    if (row === undefined) return undefined
    const { key, tries, dueAt } = toListed(row, 'running')
    const [n, error] = [(tries.at(-1)?.n ?? 0) + 1, 'its body cannot be read: the file is damaged']
    const tried = { n, dueAt, startedAt: now, endedAt: now, code: 'unreadable', error, worker }
    this.#orNote(
      () => setAside.run(now, now, JSON.stringify(keepTry(tries, tried)), seq),
      () => this.#damaged.add(seq),
    )
    return key
  }

  /** Returns the numbers of rows that were not found damaged, each once. */
  #readable(rows: readonly SqliteRow[]): readonly SqliteValue[] {
    return [...new Set(rows.map(({ seq = null }) => seq))].filter((seq) => seq !== null && !this.#damaged.has(seq))
  }

  /** Runs a part of a step, and calls back if it finds a damaged page. Nothing more can be written then in the same transaction. */
  #orNote<T>(part: () => T, note: () => void): T {
    try {
      return part()
    } catch (error) {
      if (resultCodeOf(error) === 'SQLITE_CORRUPT') note()
      throw error
    }
  }

  /** The number of rows that are left out. */
  get leftOut(): number {
    return this.#damaged.size
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
    const tries = JSON.stringify(keepTry(before, settlement.tried))
    if (settlement.next === 'bury') return bury.run(now, now, JSON.stringify(settlement.marks), tries, key, worker)
    const delay = Math.ceil(settlement.afterMs)
    const kept = settlement.isUnproven === true ? 1 : 0
    const [failed, away] = [settlement.isFailure ? 1 : 0, settlement.leavesLane === true ? 1 : 0]
    return putOff.run(now + delay, now + delay, delay, failed, tries, kept, kept, away, away, key, worker)
  }

  replay(key: string): boolean {
    const now = this.#now()
    return this.#reviveDead(key, now) || Number(this.#statements.hasten.run(now, now, key, now).changes) === 1
  }

  #reviveDead(key: string, now: number): boolean {
    return Number(this.#statements.reviveDead.run(now, now, now, key).changes) === 1
  }

  drop(key: string): boolean {
    return Number(this.#statements.drop.run(key, this.#now()).changes) === 1
  }

  /** Makes an item forget its body, so that it can be dropped though the body cannot be deleted. */
  detach(key: string): void {
    this.#statements.detach.run(key)
  }

  /** Releases the next items of lanes in which nothing runs or is next, as after a restore of rows: looks at some lanes more each time. */
  lookAtLanes(): void {
    const { lanes, release } = this.#statements
    const looked = lanes.all(this.#lane, LANES_A_LOOK)
    for (const { seq = null } of looked) if (seq !== null) release.run(seq)
    this.#lane = looked.length === LANES_A_LOOK ? String(looked.at(-1)?.lane) : ''
  }

  /** Deletes one batch of dead letters that are older than the given milliseconds. Returns how many. */
  sweepDead(olderThanMs: number): number {
    return Number(this.#statements.sweepDead.run(this.#now() - olderThanMs, BATCH).changes)
  }
}

/** The endings of the names of what belongs to the table of items: its indexes and triggers. */
const PARTS = ['_order', '_delayed', '_lost', '_gone', ...LANE_PARTS]

/** Creates what is missing, beside other processes that do the same. A table that was renamed keeps the names of its indexes and triggers, which cannot be created then. */
function createTables(database: SqliteDatabase, name: string): void {
  database.exec(forTable(name, TABLES))
  const lacksLanes = () => database.pragma(`table_info(${name})`).every((column) => column.name !== 'away')
  const addLanes = () => {
    if (lacksLanes())
      database.exec(forTable(name, 'ALTER TABLE @table ADD COLUMN lane TEXT; ALTER TABLE @table ADD COLUMN away TEXT'))
  }
  if (lacksLanes()) database.transaction(addLanes)
  database.exec(forTable(name, LANE_INDEX))
  const names = PARTS.map((ending) => `lower('${name}${ending}')`)
  const [part] = database
    .prepare(
      `SELECT type, name, tbl_name FROM sqlite_master WHERE lower(name) IN (${names.join(', ')}) AND lower(tbl_name) <> lower(?)`,
    )
    .all(name)
  if (part === undefined) return
  const drop = `DROP ${String(part.type).toUpperCase()} ${String(part.name)}`
  throw new ConfigurationError(
    'database_unusable',
    `sqliteInbox cannot create ${String(part.type)} ${String(part.name)}: that of the table ${String(part.tbl_name)} has the name, as after ALTER TABLE … RENAME. Run ${drop}, and start the app again.`,
  )
}
