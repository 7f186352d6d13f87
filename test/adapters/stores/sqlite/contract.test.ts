import { openSqlite, type SqliteDatabase, sqliteStore } from 'postern/sqlite'
import { afterAll, describe } from 'vitest'
import { itKeepsTheContract } from '../../../store/check-store.ts'
import { drivers } from './drivers.ts'
import { makeFolder } from './folder.ts'

const fileOf = makeFolder()
const opened: SqliteDatabase[] = []

afterAll(() => {
  for (const database of opened) database.close()
})

// Each store has its own connection, as in a separate process.
describe.each(drivers)('sqliteStore on %s, which another process can lock', (driver) => {
  const open = () => {
    const database = openSqlite(fileOf(`${driver.replace(':', '-')}.db`), { driver })
    opened.push(database)
    return database
  }
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
