import type {
  SqliteConnection,
  SqliteDatabase,
  SqliteDriver,
  SqliteRow,
  SqliteStatement,
  SqliteValue,
} from './database.ts'
import { isWithinTransaction } from './faults.ts'
import { GuardedStatement, WorkGuard } from './work-guard.ts'

/** A statement of one of the three drivers. They differ in how parameters are passed, and a little in what they return. */
interface DriverStatement {
  /** True if the statement returns rows. Only better-sqlite3 has it. */
  readonly reader?: boolean
  run(...parameters: readonly unknown[]): { readonly changes: number | bigint }
  get(...parameters: readonly unknown[]): SqliteRow | undefined
  all(...parameters: readonly unknown[]): readonly SqliteRow[]
}

/** Wraps the connection of any driver. */
export class WrappedConnection implements SqliteDatabase {
  readonly driver: SqliteDriver
  readonly connection: SqliteConnection
  readonly guard: WorkGuard

  constructor(driver: SqliteDriver, connection: SqliteConnection) {
    this.driver = driver
    this.connection = connection
    this.guard = new WorkGuard(connection, (sql) => this.exec(sql))
  }

  exec(sql: string): void {
    this.guard.check()
    this.connection.exec(sql)
  }

  prepare(sql: string): SqliteStatement {
    return new GuardedStatement(this.guard, this.#prepare(sql))
  }

  #prepare(sql: string): SqliteStatement {
    const prepare = () => this.connection.prepare(sql) as DriverStatement // every driver's prepare() returns it
    if (this.driver === 'node:sqlite') return prepare()
    return this.driver === 'libsql' ? new LibsqlStatement(prepare) : new BetterStatement(prepare())
  }

  pragma(source: string): readonly SqliteRow[] {
    return this.prepare(`PRAGMA ${source}`).all()
  }

  transaction<T>(work: () => T): T {
    const { commit, undo } = this.#begin()
    try {
      const result = work()
      if (isThenable(result))
        throw new TypeError(
          'The work of transaction() returned a promise, and was rolled back: SQLite allows one writer at a time, so the work must not wait for anything. Await before or after it.',
        )
      this.exec(commit)
      return result
    } catch (error) {
      undo()
      throw error
    }
  }

  #begin(): { readonly commit: string; undo(): void } {
    try {
      this.exec('BEGIN IMMEDIATE')
      return { commit: 'COMMIT', undo: () => this.guard.rollBack() }
    } catch (error) {
      if (!isWithinTransaction(error)) throw error
    }
    this.exec('SAVEPOINT postern_inner')
    return { commit: 'RELEASE postern_inner', undo: () => this.#undoInner() }
  }

  close(): void {
    this.connection.close()
  }

  /** SQLite may have rolled back already; the first error is the one to report. */
  #undoInner(): void {
    try {
      this.exec('ROLLBACK TO postern_inner; RELEASE postern_inner')
    } catch {
      // Nothing is left to undo.
    }
  }
}

/** better-sqlite3 also takes a list, which avoids spreading, and refuses `all` for statements that cannot return rows, as some pragmas. */
class BetterStatement implements SqliteStatement {
  readonly #statement: DriverStatement

  constructor(statement: DriverStatement) {
    this.#statement = statement
  }

  run(...parameters: readonly SqliteValue[]): { readonly changes: number | bigint } {
    return this.#statement.run(parameters)
  }

  get(...parameters: readonly SqliteValue[]): SqliteRow | undefined {
    return this.#statement.get(parameters)
  }

  all(...parameters: readonly SqliteValue[]): readonly SqliteRow[] {
    if (this.#statement.reader === true) return this.#statement.all(parameters)
    this.#statement.run(parameters)
    return []
  }
}

/**
 * libsql is only safe with a list, returns blobs as ArrayBuffer, and adds its own field to the row of `get`. After `all` was called on a
 * statement, its `get` returns an old row (0.5.29), so that each method has its own statement.
 */
class LibsqlStatement implements SqliteStatement {
  readonly #prepare: () => DriverStatement
  readonly #first: DriverStatement
  #every: DriverStatement | undefined

  constructor(prepare: () => DriverStatement) {
    this.#prepare = prepare
    this.#first = prepare()
  }

  run(...parameters: readonly SqliteValue[]): { readonly changes: number | bigint } {
    return this.#first.run(parameters)
  }

  get(...parameters: readonly SqliteValue[]): SqliteRow | undefined {
    const row = this.#first.get(parameters)
    return row === undefined ? undefined : toPlainRow(row)
  }

  all(...parameters: readonly SqliteValue[]): readonly SqliteRow[] {
    this.#every ??= this.#prepare()
    return this.#every.all(parameters).map(toPlainRow)
  }
}

function toPlainRow(row: Readonly<Record<string, unknown>>): SqliteRow {
  const plain: Record<string, SqliteValue> = {}
  for (const name in row) {
    if (name === '_metadata') continue
    const value = row[name]
    plain[name] = value instanceof ArrayBuffer ? new Uint8Array(value) : (value as SqliteValue) // SQLite has no other types
  }
  return plain
}

/** Returns whether a value has a method `then`, in the same way as `await`. */
function isThenable(value: unknown): boolean {
  return typeof Object(value).then === 'function'
}
