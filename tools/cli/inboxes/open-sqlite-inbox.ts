import { statSync } from 'node:fs'
import type { SqliteDatabase } from '../../../adapters/stores/sqlite/database.ts'
import { CANNOT_OPEN, findFix, untilUnlocked } from '../../../adapters/stores/sqlite/faults.ts'
import { connect, openSqlite } from '../../../adapters/stores/sqlite/open-sqlite.ts'
import { sqliteInbox } from '../../../adapters/stores/sqlite/sqlite-inbox.ts'
import { ConfigurationError } from '../../../src/protocol/errors.ts'
import type { EngineInbox } from './engine-inbox.ts'

/**
 * Opens the inbox of another process. Creates neither a file nor a table, and changes nothing in a database that has no inbox.
 *
 * @param patienceMs how long it waits, with the event loop blocked, for a process that has the whole file locked; default 2 s
 * @throws ConfigurationError `database_unusable` if the file or its inbox is not there; `driver_missing`
 */
export function openInbox(path: string, table = 'postern_inbox', patienceMs?: number): EngineInbox {
  if (!isFile(path))
    throw unusable(`${path} does not exist, or is not a file. Give the file that the app opens for its inbox.`)
  const found = findInboxes(path, patienceMs)
  const name = found.find((each) => each.toLowerCase() === table.toLowerCase())
  if (name === undefined) {
    const fix =
      found.length > 0
        ? `It has one with the table ${found[0]}: add --table ${found[0]}.`
        : 'Give the file that the app opens for its inbox. The app makes the table when it starts.'
    throw unusable(`${path} has no inbox with the table ${JSON.stringify(table)}. ${fix}`)
  }
  const database = openSqlite(path)
  try {
    return { inbox: sqliteInbox({ database, table: name }), close: () => database.close() }
  } catch (error) {
    database.close()
    throw error
  }
}

/** Finds a table by the index that `sqliteInbox` creates, and by columns that no other table has. */
const FIND = `SELECT tbl_name AS name FROM sqlite_master WHERE type = 'index' AND name = tbl_name || '_order' AND 3 = (
  SELECT count(*) FROM pragma_table_info(tbl_name) WHERE name IN ('key', 'losses', 'tries'))`

/** Without `openSqlite`, which would set another program's file to write ahead. */
function findInboxes(path: string, patienceMs?: number): readonly string[] {
  let database: SqliteDatabase | undefined
  try {
    const opened = connect(path)
    database = opened
    opened.pragma('busy_timeout = 0') // better-sqlite3 waits for 5 s by itself
    return untilUnlocked(() => opened.prepare(FIND).all(), patienceMs).map(({ name }) => String(name))
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause
    throw unusable(`${path} cannot be read: ${findFix(cause) ?? CANNOT_OPEN}`, cause)
  } finally {
    database?.close()
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function unusable(message: string, cause?: unknown): ConfigurationError {
  return new ConfigurationError('database_unusable', message, cause === undefined ? {} : { cause })
}
