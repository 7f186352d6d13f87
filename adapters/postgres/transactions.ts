import { PosternError, type TransactionClaim } from '../../src/index.ts'
import { encodeKey, encodeMark } from './encode.ts'
import { guardClient } from './guard.ts'
import { checkOut, maxOf, type PgClient, type PgPool, runStatement, STATEMENT_LIMIT_MS } from './pool.ts'
import { Slots } from './slots.ts'
import type { Statements } from './statements.ts'

/** Whatever the database's default is: at a stricter level each renewal would make the fence fail. */
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED'
/** The server then notices within a second that a handler was given up, though it is busy with a statement; else its locks would stay. */
const BEGIN_WATCHED = `${BEGIN}; SET LOCAL client_connection_check_interval = 1000`
/** Servers before version 14 do not know that setting; those on some systems cannot do it. */
const UNKNOWN_SETTING = new Set(['42704', '22023'])

/** One connection is kept for renewals, and one is left for claims. */
const LEFT_FREE = 2

/** The transactions of a store: as many at once as the pool can spare. */
export class Transactions<Tx> {
  readonly #pool: PgPool
  readonly #statements: Statements
  readonly #wrap: (client: PgClient) => Tx
  readonly #slots: Slots
  #begin = BEGIN_WATCHED

  constructor(pool: PgPool, statements: Statements, wrap: (client: PgClient) => Tx) {
    this.#pool = pool
    this.#statements = statements
    this.#wrap = wrap
    this.#slots = new Slots(maxOf(pool) - LEFT_FREE)
  }

  async run<T>(claim: TransactionClaim, work: (tx: Tx) => T | PromiseLike<T>): Promise<T> {
    const { signal } = claim
    await this.#slots.take(signal)
    try {
      const { client, giveBack } = await checkOut(this.#pool, signal)
      // Closing the connection rolls back, also in the middle of a statement.
      const abandon = () => giveBack(false)
      signal.addEventListener('abort', abandon, { once: true })
      try {
        const value = await this.#commit(client, claim, work)
        giveBack(true)
        return value
      } catch (error) {
        giveBack(!signal.aborted && (await isRolledBack(client)))
        throw error
      } finally {
        signal.removeEventListener('abort', abandon)
      }
    } finally {
      this.#slots.give()
    }
  }

  /** The claim's row is locked at the very end: nothing that renews or asks for it has to wait for the work. */
  async #commit<T>(client: PgClient, claim: TransactionClaim, work: (tx: Tx) => T | PromiseLike<T>): Promise<T> {
    const { key, token, mark, signal } = claim
    await this.#open(client)
    const guarded = guardClient(client)
    let value: T
    try {
      value = await unlessAborted(signal, () => work(this.#wrap(guarded.client)))
    } finally {
      guarded.close()
    }
    const fenced = await runStatement(client, this.#statements.commitMark, [encodeKey(key), token, encodeMark(mark)])
    if (fenced.length === 0)
      throw new PosternError(
        'lease_lost',
        'Another process has taken over the event, or has finished this handler: the transaction was rolled back.',
      )
    signal.throwIfAborted()
    await control(client, 'COMMIT')
    return value
  }

  async #open(client: PgClient): Promise<void> {
    try {
      await control(client, this.#begin)
    } catch (error) {
      if (
        this.#begin === BEGIN ||
        !(error instanceof Error && 'code' in error && UNKNOWN_SETTING.has(String(error.code)))
      )
        throw error
      this.#begin = BEGIN
      await control(client, `ROLLBACK; ${BEGIN}`)
    }
  }
}

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

/** Whether the connection can be used for something else. */
async function isRolledBack(client: PgClient): Promise<boolean> {
  try {
    await control(client, 'ROLLBACK')
    return true
  } catch {
    return false
  }
}

async function control(client: PgClient, text: string): Promise<void> {
  await client.query({ text, query_timeout: STATEMENT_LIMIT_MS })
}
