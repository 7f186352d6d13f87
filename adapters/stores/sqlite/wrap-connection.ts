import { show } from '../../../src/engine.ts'
import type {
  SqliteConnection,
  SqliteDatabase,
  SqliteDriver,
  SqliteRow,
  SqliteStatement,
  SqliteValue,
} from './database.ts'
import { isWithinTransaction } from './faults.ts'
import { WorkGuard } from './work-guard.ts'

/** A statement of one of the three drivers. They differ in how parameters are passed, and a little in what they return. */
interface DriverStatement {
  /** True if the statement returns rows. Only better-sqlite3 has it. */
  readonly reader?: boolean
  run(...parameters: readonly unknown[]): { readonly changes: number | bigint }
  get(...parameters: readonly unknown[]): SqliteRow | undefined
  all(...parameters: readonly unknown[]): readonly SqliteRow[]
}

export class WrappedConnection implements SqliteDatabase {
  readonly driver: SqliteDriver
  readonly connection: SqliteConnection
  readonly guard: WorkGuard

  constructor(driver: SqliteDriver, connection: SqliteConnection) {
    this.driver = driver
    this.connection = connection
    this.guard = new WorkGuard(connection, (sql) => this.exec(sql))
  }

  exec(sql: string, ...parameters: readonly unknown[]): void {
    if (parameters.length > 0) throw new TypeError('exec() takes no parameters: use prepare(sql).run(…).')
    this.guard.check()
    this.connection.exec(sql)
  }

  prepare(sql: string): SqliteStatement {
    const prepare = () => this.connection.prepare(sql) as DriverStatement // every driver's prepare() returns it
    const { run, get, all } = CALLS[this.driver](prepare)
    const guarded =
      <T>(call: (values: Values) => T) =>
      (...values: Values): T => {
        this.guard.check()
        return call(values)
      }
    return { run: guarded(run), get: guarded(get), all: guarded(all) }
  }

  pragma(source: string): readonly SqliteRow[] {
    return this.prepare(`PRAGMA ${source}`).all()
  }

  transaction<T>(work: () => T): T {
    const isInner = this.#begin() === 'savepoint'
    try {
      const result = work()
      if (typeof Object(result).then === 'function')
        throw new TypeError(
          'The work of transaction() returned a promise, and was rolled back: SQLite allows one writer at a time, so the work must not wait for anything. Await before or after it.',
        )
      this.exec(isInner ? 'RELEASE postern_inner' : 'COMMIT')
      return result
    } catch (error) {
      if (isInner) this.#undoInner()
      else this.guard.rollBack()
      throw error
    }
  }

  #begin(): 'transaction' | 'savepoint' {
    try {
      this.exec('BEGIN IMMEDIATE')
      return 'transaction'
    } catch (error) {
      if (!isWithinTransaction(error)) throw error
    }
    this.exec('SAVEPOINT postern_inner')
    return 'savepoint'
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

type Values = readonly SqliteValue[]

/** The methods of a statement, which take their parameters as a list. */
interface Calls {
  run(values: Values): { readonly changes: number | bigint }
  get(values: Values): SqliteRow | undefined
  all(values: Values): readonly SqliteRow[]
}

const CALLS: Readonly<Record<SqliteDriver, (prepare: () => DriverStatement) => Calls>> = {
  'node:sqlite': (prepare) => {
    const statement = prepare()
    return {
      run: (values) => statement.run(...values),
      get: (values) => statement.get(...values),
      all: (values) => statement.all(...values),
    }
  },
  // It also takes a list, which avoids spreading, and refuses `all` for statements that cannot return rows, as some pragmas.
  'better-sqlite3': (prepare) => {
    const statement = prepare()
    return {
      run: (values) => statement.run(values),
      get: (values) => statement.get(values),
      all(values) {
        if (statement.reader === true) return statement.all(values)
        statement.run(values)
        return []
      },
    }
  },
  // It is only safe with a list, returns blobs as ArrayBuffer, and adds its own field to the row of `get`. After `all` was called on a
  // statement, its `get` returns an old row (0.5.29), so that each method has its own statement. After a `get` that failed, each further
  // one fails in the same way, so that it is prepared again.
  libsql: (prepare) => {
    let first: DriverStatement | undefined = prepare()
    let every: DriverStatement | undefined
    return {
      run(values) {
        first ??= prepare()
        return first.run(mustBind(values))
      },
      get(values) {
        const statement = first ?? prepare()
        first = undefined
        const row = statement.get(mustBind(values))
        first = statement
        return row && toPlainRow(row)
      },
      all(values) {
        every ??= prepare()
        return every.all(mustBind(values)).map(toPlainRow)
      },
    }
  },
}

/** A value of another type ends the process. */
function mustBind(values: Values): Values {
  const isBound = (value: unknown) =>
    value === null || ['number', 'bigint', 'string'].includes(typeof value) || ArrayBuffer.isView(value)
  const at = values.findIndex((value) => !isBound(value))
  if (at < 0) return values
  throw new TypeError(`Parameter ${at + 1} is ${show(values[at])}; SQLite stores numbers, text, bytes and null.`)
}

function toPlainRow({ _metadata, ...row }: Record<string, unknown>): SqliteRow {
  // `instanceof` fails under jsdom.
  for (const name in row)
    if (Object.prototype.toString.call(row[name]) === '[object ArrayBuffer]')
      row[name] = new Uint8Array(row[name] as ArrayBuffer) // checked above
  return row as SqliteRow // SQLite has no other types
}
