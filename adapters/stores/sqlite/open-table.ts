import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigurationError, type Kind } from '../../../src/engine.ts'
import type { SqliteConnection, SqliteDatabase, SqliteDriver } from './database.ts'
import { findFix, untilUnlocked } from './faults.ts'
import { WrappedConnection } from './wrap-connection.ts'

/** Network file systems, by Linux's number for them. Processes on two machines share neither locks nor memory there. */
const NETWORK: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x5346414f, 'AFS'],
  [0xc36400, 'Ceph'],
])

interface Owner {
  /** The function that was given the database, for messages. */
  readonly owner: string
  readonly name: string
  /** The fix without a file, for the message about a database in memory. */
  readonly insteadOfFile?: string
}

/** Creates or finds the table of a store or an inbox, while other processes may do the same. */
export function openTable<T>(
  given: SqliteDatabase | SqliteConnection,
  { owner, name, insteadOfFile }: Owner,
  make: (database: SqliteDatabase) => T,
): { readonly database: WrappedConnection; readonly file: string; readonly table: T } {
  const database = toDatabase(given, owner)
  try {
    return untilUnlocked(() => ({
      database,
      file: checkDatabase(database, owner, insteadOfFile),
      table: make(database),
    }))
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause
    const fix =
      findFix(cause) ??
      `the table ${name} could not be created or read. If another part of the app uses a table of that name, give another name as table.`
    throw new ConfigurationError('database_unusable', `${owner} cannot use the database: ${fix}`, { cause })
  }
}

/** Returns the kind of a table's name, with which the names of further tables and indexes begin. */
export function tableName(longest: number): Kind {
  return (value) =>
    typeof value === 'string' && /^[a-z_]\w*$/i.test(value) && !/^sqlite_/i.test(value) && value.length <= longest
      ? undefined
      : 'a name of letters, digits and underscores'
}

/** Returns a database of `openSqlite`, or wraps a connection that the app opened itself with one of the drivers. */
function toDatabase(given: SqliteDatabase | SqliteConnection, owner: string): WrappedConnection {
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

/** Refuses a database that loses events, sets the file to write-ahead logging, and returns its path. */
function checkDatabase(database: SqliteDatabase, owner: string, insteadOfFile = ''): string {
  const file = database.pragma('database_list').find(({ name }) => name === 'main')?.file
  if (typeof file !== 'string' || file === '')
    throw new ConfigurationError(
      'database_unusable',
      `${owner} was given a database in memory, which would lose every event when the process ends. Give a file: openSqlite("data/app.db")${insteadOfFile}.`,
    )
  refuseNetwork(file, typeOf(file), owner)
  const mode = database.pragma('journal_mode = WAL')[0]?.journal_mode
  if (mode !== 'wal')
    throw new ConfigurationError(
      'database_unusable',
      `${owner} cannot use ${file}: it cannot use write-ahead logging (WAL); its journal mode is ${String(mode)}. Put the file on a local disk, and open it without a custom VFS.`,
    )
  return file
}

function typeOf(file: string): number | undefined {
  try {
    return statfsSync(dirname(file)).type >>> 0
  } catch {
    return undefined // some file systems do not tell
  }
}

/** @param type the number of its file system */
export function refuseNetwork(file: string, type: number | undefined, owner: string): void {
  const name = type === undefined ? undefined : NETWORK.get(type)
  if (name === undefined) return
  throw new ConfigurationError(
    'database_unusable',
    `${owner} cannot use ${file}: it is on a network file system (${name}), where SQLite's locks do not hold. Put the file on a local disk; for several machines use a store on a server.`,
  )
}
