import { openSqlite, type SqliteDatabase, sqliteInbox } from 'postern/sqlite'
import { inboxSuite } from 'postern/testing'
import { afterAll, describe, it } from 'vitest'
import { drivers } from './drivers.ts'
import { makeFolder } from './folder.ts'

const fileOf = makeFolder()
const opened: SqliteDatabase[] = []

afterAll(() => {
  for (const database of opened) database.close()
})

describe.each(drivers)('sqliteInbox on %s', (driver) => {
  const file = fileOf(`${driver.replace(':', '-')}.db`)
  // Each inbox has its own connection, as in a separate process.
  const makeInbox = (table: string) => {
    const database = openSqlite(file, { driver })
    opened.push(database)
    return sqliteInbox({ database, table })
  }
  for (const { name, run } of inboxSuite(makeInbox)) it(name, run)
})
