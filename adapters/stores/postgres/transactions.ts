import { STORE_LIMIT_MS, type TransactionClaim } from '../../../src/engine.ts'
import { leaseLost, misuse, outdated } from '../claims.ts'
import { encodeKey, encodeMark } from './encode.ts'
import { guardClient } from './guard.ts'
import {
  INSUFFICIENT_PRIVILEGE,
  NoAnswer,
  type PgClient,
  runStatement,
  STATEMENT_LIMIT_MS,
  sqlStateOf,
} from './pool.ts'
import type { SharedPool } from './shared-pool.ts'
import { type Statements, TRANSACTION_SETTING } from './statements.ts'
import type { Table } from './table.ts'

/** Set regardless of the database's default: at a stricter level each renewal would make the fence fail. */
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED'
/** Makes the server notice within a second that a handler was given up, even while it runs a statement; otherwise its locks would stay. */
const WATCH = '; SET LOCAL client_connection_check_interval = 1000'
/** Servers before version 14 do not have that setting; on some systems it has no effect. */
const UNKNOWN_SETTING = new Set(['42704', '22023'])

/** The transactions of a store, on connections of the app's pool. */
export class Transactions<Tx> {
  readonly #pool: SharedPool
  readonly #table: Table<Statements>
  readonly #wrap: (client: PgClient) => Tx
  #watch = WATCH
  #count = 0

  constructor(pool: SharedPool, table: Table<Statements>, wrap: (client: PgClient) => Tx) {
    this.#pool = pool
    this.#table = table
    this.#wrap = wrap
  }

  async run<T>(claim: TransactionClaim, work: (tx: Tx) => T | PromiseLike<T>): Promise<T> {
    const { signal } = claim
    const { client, giveBack } = await this.#pool.checkOut({ signal })
    // Closing the connection rolls back, even in the middle of a statement.
    const abandon = () => giveBack(false)
    signal.addEventListener('abort', abandon, { once: true })
    try {
      const value = await this.#commit(client, claim, work)
      giveBack(true)
      return value
    } catch (error) {
      giveBack(!signal.aborted && !(error instanceof NoAnswer) && (await canWriteAgain(client)))
      throw error
    } finally {
      signal.removeEventListener('abort', abandon)
    }
  }

  /** The claim's row is locked at the very end, so that renewals and other claims do not wait for the work. */
  async #commit<T>(client: PgClient, claim: TransactionClaim, work: (tx: Tx) => T | PromiseLike<T>): Promise<T> {
    const { key, token, mark, signal, position } = claim
    const { commitMark } = await this.#table.statements()
    const name = (this.#count++).toString(36)
    await this.#open(client, name)
    const guarded = guardClient(client)
    let value: T
    try {
      value = await unlessAborted(signal, () => work(this.#wrap(guarded.client)))
    } finally {
      guarded.close()
    }
    const fence = commitMark({
      key: encodeKey(key),
      token,
      mark: encodeMark(mark),
      transaction: name,
      position: position && { key: encodeKey(position.key), at: position.at },
    })
    const [row = []] = await this.#pool.run(client, fence, { limitMs: STATEMENT_LIMIT_MS }).catch((error: unknown) => {
      throw sqlStateOf(error) === INSUFFICIENT_PRIVILEGE ? misuse(OTHER_ROLE, error) : error
    })
    const [isSame, isMarked, isLatest] = row
    if (isSame !== 'true') throw misuse(ENDED_IT)
    if (isMarked !== 'true') throw leaseLost()
    if (isLatest !== 'true') throw outdated()
    signal.throwIfAborted()
    await this.#pool.run(client, 'COMMIT', { limitMs: STATEMENT_LIMIT_MS })
    return value
  }

  async #open(client: PgClient, name: string): Promise<void> {
    const begin = `${BEGIN}; SET LOCAL ${TRANSACTION_SETTING} = '${name}'`
    try {
      await this.#pool.run(client, begin + this.#watch)
    } catch (error) {
      if (this.#watch === '' || !UNKNOWN_SETTING.has(sqlStateOf(error) ?? '')) throw error
      this.#watch = ''
      await this.#pool.run(client, `ROLLBACK; ${begin}`)
    }
  }
}

/** Rolls back. Returns false for a connection to be closed: after a failover, one that was opened before may lead to a standby as long as it lives. */
async function canWriteAgain(client: PgClient): Promise<boolean> {
  try {
    const [row] = await runStatement(client, 'ROLLBACK; SHOW transaction_read_only', { limitMs: STORE_LIMIT_MS })
    return row?.[0] === 'off'
  } catch {
    return false
  }
}

const ENDED_IT =
  'The work ended its transaction itself: its earlier writes may be committed without the finish mark. Leave BEGIN, COMMIT and ROLLBACK out of it.'

const OTHER_ROLE =
  "Postgres refused the finish mark, or a deferred check, for lack of rights: the transaction was rolled back. The pool's user writes the mark: work that changes its role (SET LOCAL ROLE) has to end with RESET ROLE."

async function unlessAborted<T>(signal: AbortSignal, work: () => T | PromiseLike<T>): Promise<T> {
  let onAbort = () => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    signal.throwIfAborted()
    return await Promise.race([work(), aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
