import { type EmulatorDatabase, startEmulator } from 'postern/emulator'
import { expect, it } from 'vitest'
import { openJournal } from '../../tools/emulator/journal.ts'
import { makeDatabase, start } from './support.ts'

/** A database that rejects every statement with this error. */
function failingDatabase(error: unknown): EmulatorDatabase {
  const prepare = () => {
    throw error
  }
  return { prepare, exec: () => {}, pragma: () => [{ file: 'app.db' }], transaction: (work) => work() }
}

it('a database accepts one emulator at a time, and another once that is closed', async () => {
  const database = makeDatabase()
  const first = await start({ database })
  const { id } = first.webhooks.create({ url: 'http://localhost/', events: ['sync.failed'] })
  await expect(startEmulator({ database })).rejects.toMatchObject({
    code: 'database_unusable',
    message: expect.stringContaining('another emulator of this process has it open. Close that emulator first'),
  })
  expect(first.webhooks.update(id, { active: false })).toMatchObject({ active: false })
  await first.close()
  expect((await start({ database })).webhooks.list()).toMatchObject([{ id, active: false }])
})

/** Failures in the drivers' forms: better-sqlite3 and libsql by name, node:sqlite by number, with an extended part or without. */
it.each([
  [{ code: 'SQLITE_BUSY_SNAPSHOT' }, 'another process has it locked'],
  [{ code: 'ERR_SQLITE_ERROR', errcode: 5 }, 'another process has it locked'],
  [{ errcode: 8 }, 'it is read-only'],
  [{ code: 'SQLITE_ERROR' }, 'what the driver said. Give another file.'],
  [{ code: 'ENOENT' }, undefined],
  [{}, undefined],
])("a driver's error %j is reported as: %s", (fields, told) => {
  const cause = Object.assign(new Error('what the driver said\nat length'), fields)
  const open = () => openJournal(failingDatabase(cause))
  if (told === undefined) return expect(open).toThrow(cause)
  expect(open).toThrow(expect.objectContaining({ code: 'database_unusable', cause }))
  expect(open).toThrow(`The emulator cannot use the database app.db: ${told}`)
})
