import { fillIn, STATES_AND_LIMITS } from '../fill-in.ts'

/** A value of a column. Integers beyond 2 ** 53 come back in the driver's form. */
export type SqliteValue = null | number | bigint | string | Uint8Array

/** A row, by the names of its columns. */
export type SqliteRow = Readonly<Record<string, SqliteValue>>

/** A prepared statement. Parameters are passed in the order of the question marks. */
export interface SqliteStatement {
  /** Runs a statement without rows. Returns how many rows were changed. */
  run(...parameters: readonly SqliteValue[]): { readonly changes: number | bigint }
  /** Returns the first row. */
  get(...parameters: readonly SqliteValue[]): SqliteRow | undefined
  all(...parameters: readonly SqliteValue[]): readonly SqliteRow[]
}

/** One connection to a database file, by any driver. Every call is synchronous and throws the driver's errors. */
export interface SqliteDatabase {
  /** The driver of the connection. */
  readonly driver: SqliteDriver
  /** The driver's own connection, for everything that this interface lacks. */
  readonly connection: SqliteConnection
  /** Runs statements that return nothing. */
  exec(sql: string): void
  prepare(sql: string): SqliteStatement
  /** Returns the rows of `PRAGMA source`, for example `pragma('user_version')`. */
  pragma(source: string): readonly SqliteRow[]
  /**
   * Runs `work` in a transaction that takes the write lock immediately, and commits; if `work` throws, it rolls back and throws the same
   * error. Inside of another transaction it is a savepoint.
   *
   * @throws TypeError if `work` returns a promise: it must not wait while the file is locked
   */
  transaction<T>(work: () => T): T
  close(): void
}

/** A package or module that opens SQLite files. */
export type SqliteDriver = 'node:sqlite' | 'better-sqlite3' | 'libsql'

/** A connection of a driver: a `DatabaseSync` of node:sqlite, or a `Database` of better-sqlite3 or libsql. */
export interface SqliteConnection {
  exec(sql: string): unknown
  prepare(sql: string): object
  close(): unknown
}

/** Prepared statements by their names. */
export type Statements<Texts> = Readonly<Record<keyof Texts, SqliteStatement>>

/** Prepares statements. `@table` stands for the name of the table. */
export function prepareAll<Texts extends Readonly<Record<string, string>>>(
  database: SqliteDatabase,
  table: string,
  texts: Texts,
): Statements<Texts> {
  const prepared = Object.entries(texts).map(([name, sql]) => [name, database.prepare(forTable(table, sql))])
  return Object.fromEntries(prepared) as Statements<Texts> // the same names
}

/** Fills in a statement for a table, whose name was checked. */
export function forTable(table: string, sql: string): string {
  return fillIn(sql, { ...STATES_AND_LIMITS, table })
}
