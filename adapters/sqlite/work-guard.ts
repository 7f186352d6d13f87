import { PosternError } from '../../src/index.ts'
import type { SqliteConnection, SqliteStatement, SqliteValue } from './database.ts'

/** What the drivers say of themselves. node:sqlite says it since Node 22.16. */
interface Transactional {
  readonly inTransaction?: boolean
  readonly isTransaction?: boolean
}

/**
 * Keeps a handler's work within the open transaction: its writes and its finish mark would not be committed together otherwise. It may
 * end by a statement of the work, or by SQLite after `INSERT OR ROLLBACK`, whose error the work can catch.
 */
export class WorkGuard {
  readonly #connection: Transactional
  readonly #exec: (sql: string) => void
  #isAtWork = false

  constructor(connection: SqliteConnection, exec: (sql: string) => void) {
    this.#connection = connection as Transactional // whatever the driver is
    this.#exec = exec
  }

  /** @throws PosternError `transaction_misused` if the work under way is in no transaction any more */
  check(): void {
    if (!this.#isAtWork) return
    const { inTransaction, isTransaction = true } = this.#connection
    if (!(inTransaction ?? isTransaction)) throw hasEnded()
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

  #release(): void {
    try {
      this.#exec('RELEASE postern_work')
    } catch (cause) {
      throw hasEnded(cause)
    }
  }
}

/** Checks before each call. */
export class GuardedStatement implements SqliteStatement {
  readonly #guard: WorkGuard
  readonly #statement: SqliteStatement

  constructor(guard: WorkGuard, statement: SqliteStatement) {
    this.#guard = guard
    this.#statement = statement
  }

  run(...parameters: readonly SqliteValue[]): ReturnType<SqliteStatement['run']> {
    this.#guard.check()
    return this.#statement.run(...parameters)
  }

  get(...parameters: readonly SqliteValue[]): ReturnType<SqliteStatement['get']> {
    this.#guard.check()
    return this.#statement.get(...parameters)
  }

  all(...parameters: readonly SqliteValue[]): ReturnType<SqliteStatement['all']> {
    this.#guard.check()
    return this.#statement.all(...parameters)
  }
}

function hasEnded(cause?: unknown): PosternError {
  return new PosternError(
    'transaction_misused',
    'The work of context.transaction() ended the transaction before it returned. Leave COMMIT, ROLLBACK and OR ROLLBACK out: it is committed when work returns, and rolled back when work throws.',
    cause === undefined ? {} : { cause },
  )
}
