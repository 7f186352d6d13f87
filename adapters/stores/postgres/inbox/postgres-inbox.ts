import {
  type Inbox,
  type InboxCounts,
  type InboxEntry,
  type InboxItem,
  type InboxPage,
  type InboxState,
  type InboxWorkOptions,
  type ListOptions,
  type Logger,
  MOST_COUNTED,
  OptionChecker,
  PosternError,
  pollInbox,
  type Settlement,
  type TakenItem,
} from '../../../../src/engine.ts'
import { makeSweeper, warnOfDropped } from '../../dead-letters.ts'
import { checkKey, DEAD, listLines, PARKED, RUNNING } from '../../inbox-lines.ts'
import { nameWorker } from '../../name-worker.ts'
import { PutListeners } from '../../put-listeners.ts'
import { encodeKey, toArrayLiteral } from '../encode.ts'
import { Groups } from '../groups.ts'
import { sqlStateOf } from '../pool.ts'
import { SharedPool } from '../shared-pool.ts'
import type { TableName } from '../statements.ts'
import { Table, type TableKind } from '../table.ts'
import { toCommandOptions } from './command-options.ts'
import { type StoredItem, toEntry, toListed, toMs, toStored, toStoredLane } from './entry.ts'
import { InboxTables } from './inbox-tables.ts'
import { checkInboxName, checkInboxOptions, type PostgresInboxOptions } from './options.ts'
import { ENTRY_LENGTH } from './pieces.ts'
import { type InboxStatements, makeInboxStatements } from './statements.ts'
import { COMMENT, ENDINGS } from './tables.ts'
import { WorkTable } from './work-table.ts'

/** An inbox on Postgres. */
export interface PostgresInbox extends Inbox {
  /**
   * Creates the tables, or updates them to this version; several processes may call it at the same time. The pool's user needs the right to
   * create. If it does not have it, run the SQL of `postgresInboxSchema()`.
   *
   * @throws PosternError `inbox_unavailable`, by rejecting
   */
  migrate(): Promise<void>
}

const KIND: TableKind<InboxStatements> = {
  noun: 'inbox',
  comment: COMMENT,
  endings: ENDINGS,
  makeStatements: makeInboxStatements,
  repair: ({ advance, triggers }) => `${advance};${triggers}`,
}
const UNIQUE_VIOLATION = '23505'
const BEHIND =
  'postgresInbox: the numbers of new items have bodies of other events already, since the sequence of the table stands back, as after a copy. Call await inbox.migrate() as the owner of the table, which sets it forward.'
/** Groups of items that may be under way while earlier ones have no answer yet. */
const MOST_PUTTING = 2
/**
 * An inbox in tables of Postgres, for any number of machines. Events that arrive together share a statement and a commit. It works behind
 * PgBouncer in transaction mode.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`
 * @example
 * const pool = new Pool({ connectionString: process.env.DATABASE_URL })
 * const inbox = postgresInbox({ pool })
 * await inbox.migrate()
 * const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET, store: postgresStore({ pool }), inbox })
 */
export function postgresInbox(options: PostgresInboxOptions): PostgresInbox {
  return new InboxOnPostgres(checkInboxOptions(options))
}

/**
 * Returns the SQL that `inbox.migrate()` runs, for apps that migrate by other means. It can be run again.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`
 */
export function postgresInboxSchema(table: TableName = {}): string {
  return makeInboxStatements(checkInboxName(new OptionChecker('postgresInboxSchema'), table)).create
}

class InboxOnPostgres implements PostgresInbox {
  readonly keepsLanes = true
  readonly commandOptions: readonly string[]
  readonly #table: Table<InboxStatements>
  readonly #tables: InboxTables
  readonly #puts: Groups<StoredItem, true>
  readonly #tidy: () => Promise<void>
  readonly #listeners = new PutListeners()
  /** The last lane that was looked at. */
  #lane = ''
  #logger: Logger | undefined

  constructor({ pool, schema, table, deadLetterMs }: ReturnType<typeof checkInboxOptions>) {
    this.commandOptions = toCommandOptions(pool, { schema, table })
    const shared = SharedPool.of(pool)
    this.#table = new Table(shared, { schema, table }, KIND)
    this.#tables = new InboxTables(shared, this.#table)
    const { explain } = this.#tables
    this.#puts = new Groups({
      run: (items) => this.#putAll(items),
      toError: explain,
      sizeOf: ({ bytes }) => bytes.length,
      laneOf: ({ lane }) => lane,
      most: MOST_PUTTING,
    })
    this.#tidy = makeSweeper(
      () => this.#sweep(deadLetterMs),
      (dropped) => warnOfDropped(this.#logger, 'postgresInbox', dropped, deadLetterMs),
    )
  }

  migrate(): Promise<void> {
    return this.#table.migrate()
  }

  async put(item: InboxItem): Promise<void> {
    await this.#puts.add(toStored(item))
  }

  async #putAll(items: readonly StoredItem[]): Promise<readonly (true | undefined)[]> {
    const busy = await this.#insert(items).catch(async (error: unknown) => {
      if (sqlStateOf(error) !== UNIQUE_VIOLATION) throw error
      await this.#tables.run(({ advance }) => advance)
      return this.#insert(items).catch((cause: unknown) => {
        throw sqlStateOf(cause) === UNIQUE_VIOLATION ? new PosternError('inbox_unavailable', BEHIND, { cause }) : cause
      })
    })
    this.#listeners.wake()
    return items.map(({ key }) => (busy.has(key) ? undefined : true))
  }

  /** Returns the keys of those whose lane is locked: they were not stored. */
  async #insert(items: readonly StoredItem[]): Promise<ReadonlySet<unknown>> {
    const listOf = (column: (item: StoredItem) => string | number) => toArrayLiteral(items.map(column))
    const lengths = items.map(({ bytes }) => bytes.length)
    let end = 1
    const starts = lengths.map((length) => {
      end += length
      return end - length
    })
    const hasLanes = items.some(({ lane }) => lane !== '')
    const rows = await this.#tables.runInTurn(
      ({ put, putInLanes }) => (hasLanes ? putInLanes : put),
      items.map(({ account }) => account),
      (turns, nths, hint) => [
        ...[listOf(({ key }) => key), listOf(({ account }) => account), listOf(({ id }) => id)],
        ...[listOf(({ type }) => type), listOf(({ receivedAt }) => receivedAt), listOf(({ more }) => more)],
        ...[toArrayLiteral(starts), toArrayLiteral(lengths), turns, nths, hint],
        Buffer.concat(items.map(({ bytes }) => bytes)),
        ...(hasLanes ? [listOf(({ lane }) => lane)] : []),
      ],
    )
    return new Set(rows.map(([key]) => key))
  }

  work(run: (item: TakenItem) => Promise<Settlement>, options: InboxWorkOptions) {
    const worker = nameWorker()
    const { onPut } = this.#listeners
    const parts = { tables: this.#tables, worker, leaseMs: options.leaseMs, onPut, tidy: this.#tidy }
    return pollInbox(new WorkTable(parts), worker, run, options)
  }

  async #sweep(deadLetterMs: number): Promise<number> {
    const { length } = await this.#tables.run(({ sweepDead }) => sweepDead, deadLetterMs * 1_000)
    if (length === 0) {
      await this.#tables.run(({ sweepWorkers }) => sweepWorkers)
      await this.#tables.run(({ adoptUnknown }) => adoptUnknown)
      // What runs now does not wait for lanes that no event has left.
      const looking = this.#tables.run(({ lookAtLanes }) => lookAtLanes, this.#lane).catch(() => [])
      const [[lane, hasMore] = []] = await looking
      this.#lane = hasMore === 'true' ? String(lane) : ''
    }
    return length
  }

  async counts(): Promise<InboxCounts> {
    const [[waiting, running, dead, oldest = null, parked, oldestParked = null] = []] = await this.#tables.run(
      ({ counts }) => counts,
    )
    return {
      waiting: Math.min(Number(waiting), MOST_COUNTED),
      running: Number(running),
      dead: Number(dead),
      oldestDueAt: oldest === null ? undefined : toMs(oldest),
      parked: Number(parked),
      oldestParkedAt: oldestParked === null ? undefined : toMs(oldestParked),
    }
  }

  async list(state: InboxState, options: ListOptions = {}): Promise<InboxPage> {
    return listLines<readonly unknown[]>(state, options, {
      read: (line, ...after) => this.#tables.run(({ pages }) => pages[line] ?? '', ...after),
      placeOf: (row) => row.slice(ENTRY_LENGTH),
      toListed: (row) => toListed(row, state),
    })
  }

  async get(key: string): Promise<InboxEntry | undefined> {
    const [row] = await this.#tables.run(({ get }) => get, encodeKey(checkKey('get', key)))
    if (row === undefined) return undefined
    const [bytes, number, isLive] = row.slice(ENTRY_LENGTH)
    const running = isLive === 'true' ? 'running' : 'waiting'
    const entry = toEntry(row, bytes, number === RUNNING ? running : number === DEAD ? 'dead' : 'waiting')
    if (number !== PARKED) return entry
    const [head] = await this.#tables.run(({ headOf }) => headOf, toStoredLane(entry))
    return head === undefined ? entry : { ...entry, behind: toListed(head, 'waiting').key }
  }

  async replay(key: string): Promise<boolean> {
    const { length } = await this.#tables.run(({ replay }) => replay, encodeKey(checkKey('replay', key)))
    if (length === 1) this.#listeners.wake()
    return length === 1
  }

  async drop(key: string): Promise<boolean> {
    const rows = await this.#tables.run(({ drop }) => drop, encodeKey(checkKey('drop', key)))
    return rows.length === 1
  }

  reportTo(logger: Logger): void {
    this.#logger = logger
    this.#table.lookLater(logger)
  }
}
