import { expect, it } from 'vitest'
import { explainTrouble } from '../../src/emulator/database-trouble.ts'

/** Failures in the drivers' forms: better-sqlite3 and libsql by name, node:sqlite by number, with an extended part or without. */
it.each([
  [{ code: 'SQLITE_BUSY' }, 'another process has it open'],
  [{ code: 'SQLITE_BUSY_SNAPSHOT' }, 'another process has it open'],
  [{ code: 'ERR_SQLITE_ERROR', errcode: 5 }, 'another process has it open'],
  [{ code: 'SQLITE_LOCKED' }, 'another process has it open'],
  [{ errcode: 6 }, 'another process has it open'],
  [{ code: 'SQLITE_READONLY_DIRECTORY' }, 'it cannot be written'],
  [{ errcode: 8 }, 'it cannot be written'],
  [{ code: 'SQLITE_IOERR_WRITE' }, 'its disk failed'],
  [{ errcode: 778 }, 'its disk failed'],
  [{ code: 'SQLITE_CORRUPT_VTAB' }, 'it is damaged'],
  [{ errcode: 11 }, 'it is damaged'],
  [{ code: 'SQLITE_FULL' }, 'no room is left'],
  [{ errcode: 13 }, 'no room is left'],
  [{ code: 'SQLITE_CANTOPEN' }, 'it cannot be written'],
  [{ errcode: 14 }, 'it cannot be written'],
  [{ code: 'SQLITE_NOTADB' }, 'it is not a SQLite database'],
  [{ errcode: 26 }, 'it is not a SQLite database'],
  [{ code: 'SQLITE_ERROR' }, 'what the driver said. Give another file.'],
  [{ errcode: 1 }, 'what the driver said. Give another file.'],
])('%j is reported as: %s', (fields, told) => {
  const cause = Object.assign(new Error('what the driver said\nat length'), fields)
  const fail = () =>
    explainTrouble('app.db', () => {
      throw cause
    })
  expect(fail).toThrow(expect.objectContaining({ code: 'database_unusable', cause }))
  expect(fail).toThrow(`The emulator cannot use the database app.db: ${told}`)
})

it.each([new Error('mine'), Object.assign(new Error('mine'), { code: 'ENOENT' }), undefined, 'text'])(
  "leaves errors alone that are not a driver's: %s",
  (error) => {
    let thrown: unknown = 'nothing'
    try {
      explainTrouble('app.db', () => {
        throw error
      })
    } catch (caught) {
      thrown = caught
    }
    expect(thrown).toBe(error)
  },
)
