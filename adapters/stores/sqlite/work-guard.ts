import { misuse } from '../claims.ts'
import type { SqliteConnection } from './database.ts'
import { isBusyExecuting } from './faults.ts'

/** The drivers' fields for an open transaction. node:sqlite has its field since Node 22.16. */
interface Transactional {
  readonly inTransaction?: boolean
  readonly isTransaction?: boolean
}

/**
 * Keeps a handler's work within the open transaction, since its writes and its finish mark would not be committed together otherwise. A
 * statement of the work may end the transaction, and so may SQLite after `INSERT OR ROLLBACK`, whose error the work can catch.
 */
export class WorkGuard {
  readonly #connection: Transactional
  readonly #exec: (sql: string) => void
  #isAtWork = false
  #isAbandoned = false

  constructor(connection: SqliteConnection, exec: (sql: string) => void) {
    this.#connection = connection as Transactional // for any driver
    this.#exec = exec
  }

  /** True if a transaction must still be rolled back: better-sqlite3 refuses that while the app iterates over rows. */
  get isAbandoned(): boolean {
    return this.#isAbandoned
  }

  /** Checks before each statement that the work under way is still in its transaction. */
  check(): void {
    if (this.#isAbandoned) this.rollBack()
    if (!this.#isAtWork) return
    const { inTransaction, isTransaction = true } = this.#connection
    if (!(inTransaction ?? isTransaction)) throw misuse(ENDED)
  }

  /** @throws PosternError `transaction_misused` if the work did not leave the transaction open */
  run<T>(work: () => T): T {
    this.#exec('SAVEPOINT postern_work')
    this.#isAtWork = true
    try {
      const result = work()
      this.#release()
      return result
    } finally {
      this.#isAtWork = false
    }
  }

  /** Rolls back immediately, or as soon as it is possible. After some failures, for example a full disk, SQLite has already done so. */
  rollBack(): void {
    this.#isAbandoned = false
    try {
      this.#exec('ROLLBACK')
    } catch (error) {
      this.#isAbandoned = isBusyExecuting(error)
    }
  }

  #release(): void {
    try {
      this.#exec('RELEASE postern_work')
    } catch (cause) {
      throw misuse(isBusyExecuting(cause) ? ITERATING : ENDED, cause)
    }
  }
}

const ITERATING =
  'The work of context.transaction() returned while it iterates over rows. Read them with all() instead.'

const ENDED =
  'The work of context.transaction() ended the transaction before it returned. Leave COMMIT, ROLLBACK and OR ROLLBACK out: it is committed when work returns, and rolled back when work throws.'
