import { ConfigurationError } from '../../../src/index.ts'
import type { SqliteConnection, SqliteDatabase, SqliteDriver } from './database.ts'
import { WrappedConnection } from './wrap-connection.ts'

/** Returns a database of `openSqlite`, or wraps a connection that the app opened itself with one of the drivers. */
export function toDatabase(given: SqliteDatabase | SqliteConnection, owner: string): WrappedConnection {
  if (given instanceof WrappedConnection) return given
  const { exec, prepare, driver, connection } = Object(given) as Partial<SqliteDatabase> // plain JavaScript may pass anything
  if (typeof exec !== 'function' || typeof prepare !== 'function')
    throw new ConfigurationError(
      'option_invalid',
      `${owner}: database is not a connection to SQLite. Give the result of openSqlite(path), a DatabaseSync of node:sqlite, or a Database of better-sqlite3 or libsql.`,
    )
  // From another copy of this package: no driver's own connection has these fields.
  if (driver !== undefined && connection !== undefined) return new WrappedConnection(driver, connection)
  return new WrappedConnection(driverOf(given), given)
}

/** Recognizes a driver by a field that only it has: a class can come from another copy of its package. */
function driverOf(connection: SqliteConnection): SqliteDriver {
  if ('syncUntil' in connection) return 'libsql'
  return 'pragma' in connection ? 'better-sqlite3' : 'node:sqlite'
}
