import { sealedInbox } from 'postern'
import { openSqlite, type SqliteDatabase, type SqliteDriver, sqliteInbox, sqliteStore } from 'postern/sqlite'
import { afterAll, describe, it } from 'vitest'
import { itKeepsTheContract } from '../../../store/check-store.ts'
import { inboxSuite, SEAL_KEYS } from '../../../support/inbox-suite/inbox-suite.ts'
import { drivers } from './drivers.ts'
import { makeFolder } from './folder.ts'

const fileOf = makeFolder()
const opened: SqliteDatabase[] = []

afterAll(() => {
  for (const database of opened) database.close()
})

/** Returns a function that opens a connection to one file: each store and inbox has its own, as in a separate process. */
function opener(driver: SqliteDriver, name: string): () => SqliteDatabase {
  return () => {
    const database = openSqlite(fileOf(`${name}-${driver.replace(':', '-')}.db`), { driver })
    opened.push(database)
    return database
  }
}

describe.each(drivers)('sqliteStore on %s, which another process can lock', (driver) => {
  const open = opener(driver, 'store')
  const other = open()
  other.exec('CREATE TABLE suite_rows (name TEXT PRIMARY KEY) STRICT')
  const lock = () => {
    for (;;)
      try {
        return other.exec('BEGIN EXCLUSIVE')
      } catch {
        // The store is writing right now.
      }
  }
  itKeepsTheContract((options) => sqliteStore({ database: open(), ...options }), {
    hasOwnClock: false,
    transaction: {
      isAsynchronous: false,
      write: (tx: SqliteDatabase, row) => tx.prepare('INSERT INTO suite_rows VALUES (?)').run(row),
      has: (row) => other.prepare('SELECT 1 FROM suite_rows WHERE name = ?').get(row) !== undefined,
    },
    outage: { begin: lock, end: () => other.exec('COMMIT') },
  })
})

describe.each(drivers)('sqliteInbox on %s', (driver) => {
  const open = opener(driver, 'inbox')
  for (const { name, run } of inboxSuite((table) => sqliteInbox({ database: open(), table }))) it(name, run)
})

describe('sealedInbox on SQLite', () => {
  const [driver = 'libsql'] = drivers
  const open = opener(driver, 'sealed')
  const makeInbox = (table: string) => sealedInbox(sqliteInbox({ database: open(), table }), { keys: SEAL_KEYS })
  for (const { name, run } of inboxSuite(makeInbox)) it(name, run)
})
