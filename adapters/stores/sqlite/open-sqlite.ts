import { resolve } from 'node:path'
import { ConfigurationError, OptionChecker, oneOf, whole } from '../../../src/engine.ts'
import type { SqliteDatabase, SqliteDriver } from './database.ts'
import { DRIVERS } from './drivers.ts'
import { CANNOT_OPEN, findFix, untilUnlocked } from './faults.ts'
import { WrappedConnection } from './wrap-connection.ts'

/** Options of `openSqlite`. */
export interface OpenSqliteOptions {
  /** Default: the first installed one of node:sqlite, better-sqlite3 and libsql. */
  readonly driver?: SqliteDriver | undefined
  /**
   * `full` (default): commits survive a power cut. `normal`: they survive the end of the process; a power cut can undo the last commits,
   * but never breaks the file, and several busy processes on one file wait less for each other.
   */
  readonly synchronous?: 'full' | 'normal' | undefined
  /** The longest time for which a call waits, with the event loop blocked, while another process has the file locked. Default 200 ms. */
  readonly busyTimeoutMs?: number | undefined
}

/** The size in bytes to which the write-ahead log shrinks after a long read, during which it grew. */
const LARGEST_IDLE_LOG = 8 * 1_048_576
const LONGEST_BUSY_MS = 4_000

/**
 * Opens a database file, and creates it if it does not exist, with the first driver that is installed: node:sqlite (Node 22.13 and later),
 * better-sqlite3 or libsql. The file uses write-ahead logging (WAL), so that it has `-wal` and `-shm` files beside it.
 *
 * @param path a file's path, or `:memory:` for a database that ends with the connection
 * @throws ConfigurationError `driver_missing` if no driver is installed, or not the requested one; `database_unusable` if the file cannot
 * be opened; `option_invalid`, `option_unknown`
 */
export function openSqlite(path: string, options: OpenSqliteOptions = {}): SqliteDatabase {
  const { driver, synchronous, busyTimeoutMs } = checkOptions(path, options)
  const file = path === ':memory:' ? path : resolve(path)
  let opened: SqliteDatabase | undefined
  try {
    const database = connect(file, driver)
    opened = database
    database.pragma(`busy_timeout = ${busyTimeoutMs}`)
    // SQLite does not wait for a lock while it changes the mode of a new file: it is the only such step.
    untilUnlocked(() => database.pragma('journal_mode = WAL'))
    database.pragma(`synchronous = ${synchronous}`)
    database.pragma(`journal_size_limit = ${LARGEST_IDLE_LOG}`)
    return database
  } catch (cause) {
    opened?.close()
    if (cause instanceof ConfigurationError) throw cause
    throw new ConfigurationError(
      'database_unusable',
      `openSqlite cannot open ${file}: ${findFix(cause) ?? CANNOT_OPEN}`,
      { cause },
    )
  }
}

/** Opens a file without changes, with the first driver that is installed, or throws `driver_missing`. */
export function connect(file: string, wanted?: SqliteDriver): SqliteDatabase {
  const reasons: string[] = []
  for (const driver of wanted === undefined ? listDrivers() : [wanted]) {
    const opener = DRIVERS[driver]()
    if (typeof opener !== 'string') return new WrappedConnection(driver, opener(file))
    reasons.push(`${driver}: ${opener}`)
  }
  throw new ConfigurationError(
    'driver_missing',
    `openSqlite found no driver for SQLite. ${reasons.join('. ')}. Run \`npm install libsql\`, which comes prebuilt, or use Node 22.13 or later, which includes one.`,
  )
}

function listDrivers(): readonly SqliteDriver[] {
  return Object.keys(DRIVERS) as SqliteDriver[] // a record's keys are of its own type
}

const check = new OptionChecker('openSqlite')

const OPTIONS = {
  driver: oneOf(listDrivers()),
  synchronous: oneOf(['full', 'normal']),
  busyTimeoutMs: whole(0, LONGEST_BUSY_MS, 'milliseconds'),
}

/** A URL, or a value that became text: what it was read from is not set. */
const NO_PATH = /^(file:|[a-z]+:\/\/)|^(undefined|null)$/i

function checkOptions(path: string, options: OpenSqliteOptions) {
  check.mustFit(options, OPTIONS)
  if (typeof path !== 'string' || path.trim() === '' || path.includes('\0') || NO_PATH.test(path))
    throw check.invalid(`${JSON.stringify(path)} is not the path of a file; give one such as "data/app.db".`)
  const { driver, synchronous = 'full', busyTimeoutMs = 200 } = options
  return { synchronous, busyTimeoutMs, driver }
}
