/** What a column can hold. Integers beyond 2 ** 53 come back as the driver gives them. */
export type SqliteValue = null | number | bigint | string | Uint8Array

export type SqliteRow = Readonly<Record<string, SqliteValue>>

/** A prepared statement. Parameters are given in the order of the question marks. */
export interface SqliteStatement {
  /** For statements without rows. Gives how many rows were changed. */
  run(...parameters: readonly SqliteValue[]): { readonly changes: number | bigint }
  /** The first row. */
  get(...parameters: readonly SqliteValue[]): SqliteRow | undefined
  all(...parameters: readonly SqliteValue[]): readonly SqliteRow[]
}

/** One connection to a database file, the same over the three drivers. Every call is synchronous and throws what the driver throws. */
export interface SqliteDatabase {
  /** Which driver it stands on. */
  readonly driver: SqliteDriver
  /** The driver's own connection, for what this interface has no name for. */
  readonly connection: SqliteConnection
  /** Runs statements that give nothing back. */
  exec(sql: string): void
  prepare(sql: string): SqliteStatement
  /** The rows of `PRAGMA source`, for example `pragma('user_version')`. */
  pragma(source: string): readonly SqliteRow[]
  /**
   * Runs `work` in a transaction that takes the lock for writing at once, and commits; what `work` throws rolls it back and is
   * thrown on. Inside of another transaction it is a savepoint.
   *
   * @throws TypeError where `work` gives a promise: nothing may be waited for while the file is locked
   */
  transaction<T>(work: () => T): T
  close(): void
}

export type SqliteDriver = 'node:sqlite' | 'better-sqlite3' | 'libsql'

/** A connection as a driver makes it: a `DatabaseSync` of node:sqlite, or a `Database` of better-sqlite3 or libsql. */
export interface SqliteConnection {
  exec(sql: string): unknown
  prepare(sql: string): object
  close(): unknown
}
