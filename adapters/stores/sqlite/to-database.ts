import { ConfigurationError } from '../../../src/index.ts'
import type { SqliteConnection, SqliteDatabase, SqliteDriver } from './database.ts'
import { WrappedConnection } from './wrap-connection.ts'

/** What `openSqlite` gave, or a connection that the app made itself with one of the drivers. */
export function toDatabase(given: SqliteDatabase | SqliteConnection, owner: string): WrappedConnection {
  if (given instanceof WrappedConnection) return given
  const { exec, prepare, driver, connection } = Object(given) as Partial<SqliteDatabase> // plain JavaScript may give anything
  if (typeof exec !== 'function' || typeof prepare !== 'function')
    throw new ConfigurationError(
      'option_invalid',
      `${owner}: database is not a connection to SQLite. Give what openSqlite(path) gives, a DatabaseSync of node:sqlite, or a Database of better-sqlite3 or libsql.`,
    )
  // Of another copy of this package: no driver's own has these fields.
  if (driver !== undefined && connection !== undefined) return new WrappedConnection(driver, connection)
  return new WrappedConnection(driverOf(given), given)
}

/** By what only one of them has: a class can come from another copy of its package. */
function driverOf(connection: SqliteConnection): SqliteDriver {
  if ('syncUntil' in connection) return 'libsql'
  return 'pragma' in connection ? 'better-sqlite3' : 'node:sqlite'
}
