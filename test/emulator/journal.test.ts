import { join } from 'node:path'
import { type EmulatorDatabase, startEmulator } from 'postern/emulator'
import { openSqlite } from 'postern/sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { openJournal } from '../../tools/emulator/journal.ts'
import { makeDatabase, makeFolder, start } from './support.ts'

/** A database that rejects every statement with this error. */
function failingDatabase(error: unknown): EmulatorDatabase {
  const prepare = () => {
    throw error
  }
  return { prepare, exec: () => {}, pragma: () => [{ file: 'app.db' }], transaction: (work) => work() }
}

it('entries are loaded by kind, in the order in which they were first saved', () => {
  const journal = openJournal(makeDatabase())
  for (const id of ['c', 'a', 'b']) journal.save('record', id, { id })
  journal.save('webhook', 'a', 'a webhook')
  journal.save('record', 'c', ['changed'])
  expect(journal.load('record')).toEqual([
    { id: 'c', value: ['changed'] },
    { id: 'a', value: { id: 'a' } },
    { id: 'b', value: { id: 'b' } },
  ])
  journal.remove('record', 'a')
  journal.save('record', 'a', 1)
  expect(journal.load('record').map(({ id }) => id)).toEqual(['c', 'b', 'a'])
  expect(journal.load('webhook')).toEqual([{ id: 'a', value: 'a webhook' }])
  journal.clear('record')
  expect([journal.load('record'), journal.load('webhook').length, journal.load('account')]).toEqual([[], 1, []])
})

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

it('bytes are kept unchanged, separate from the passed ones', () => {
  const journal = openJournal(makeDatabase())
  const bytes = new Uint8Array([0, 255, 10])
  journal.saveBytes('a', bytes)
  journal.saveBytes('empty', new Uint8Array())
  bytes[0] = 7
  expect(journal.loadBytes('a')).toEqual(new Uint8Array([0, 255, 10]))
  expect(journal.loadBytes('empty')).toEqual(new Uint8Array())
  expect(journal.loadBytes('b')).toBeUndefined()
  journal.saveBytes('a', new Uint8Array([1]))
  expect(journal.loadBytes('a')).toEqual(new Uint8Array([1]))
  journal.removeBytes('a')
  expect(journal.loadBytes('a')).toBeUndefined()
  journal.clear('record')
  expect(journal.loadBytes('empty')).toBeDefined()
  journal.clear('delivery')
  expect(journal.loadBytes('empty')).toBeUndefined()
})

it.each([true, false])('a closed journal refuses to write, with a database or without one: %s', (isKept) => {
  const database = isKept ? makeDatabase() : undefined
  const journal = openJournal(database)
  const writes: readonly (() => unknown)[] = [
    () => journal.remove('meta', 'a'),
    () => journal.saveBytes('a', new Uint8Array()),
    () => journal.removeBytes('a'),
    () => journal.clear('meta'),
    () => journal.save('meta', 'a', 1),
    () => journal.together(() => undefined),
  ]
  for (const write of writes) write()
  const kept = isKept ? [{ id: 'a', value: 1 }] : []
  expect([journal.load('meta'), journal.loadBytes('a'), journal.together(() => 7)]).toEqual([kept, undefined, 7])
  journal.close()
  const closed = expect.objectContaining({ kind: 'full', message: 'the emulator has been closed' })
  for (const write of writes) expect(write).toThrow(closed)
  expect(openJournal(database).load('meta')).toEqual(kept)
})

it('the file is locked for others from the start to the close', async () => {
  const folder = await makeFolder()
  const file = join(folder, 'emulator.db')
  const database = makeDatabase(file)
  const journal = openJournal(database)
  journal.save('meta', 'a', 1)
  expect(() => openSqlite(file, { busyTimeoutMs: 0 })).toThrow()
  journal.close()
  const other = openSqlite(file, { busyTimeoutMs: 0 })
  onTestFinished(async () => other.close())
  expect(other.prepare('SELECT id FROM entries').all()).toEqual([{ id: 'a' }])
})

it.each([
  ['of another program', 'CREATE TABLE users (id)', 'it belongs to another program. Give another file.'],
  [
    'of another version',
    'CREATE TABLE emulator (version INTEGER NOT NULL); INSERT INTO emulator VALUES (2)',
    'it has version 2, but this emulator reads version 1. Give another file.',
  ],
])('a database %s is refused, and stays as it is', async (_what, sql, told) => {
  const folder = await makeFolder()
  const file = join(folder, 'other.db')
  const database = makeDatabase(file)
  database.exec(sql)
  const tables = () => database.prepare('SELECT name, sql FROM sqlite_master').all()
  const before = tables()
  for (let tried = 0; tried < 2; tried++)
    expect(() => openJournal(database)).toThrow(
      expect.objectContaining({
        code: 'database_unusable',
        message: `The emulator cannot use the database ${file}: ${told}`,
      }),
    )
  expect(tables()).toEqual(before)
  const other = openSqlite(file, { busyTimeoutMs: 0 })
  onTestFinished(async () => other.close())
})

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
  [{ code: 'ENOENT' }, undefined],
  [{}, undefined],
])("a driver's error %j is reported as: %s", (fields, told) => {
  const cause = Object.assign(new Error('what the driver said\nat length'), fields)
  const open = () => openJournal(failingDatabase(cause))
  if (told === undefined) return expect(open).toThrow(cause)
  expect(open).toThrow(expect.objectContaining({ code: 'database_unusable', cause }))
  expect(open).toThrow(`The emulator cannot use the database app.db: ${told}`)
})

it('a database of the emulator may have further tables', () => {
  const database = makeDatabase()
  openJournal(database).close()
  database.exec('CREATE TABLE a_note (text); DROP TABLE entries')
  expect(openJournal(database).load('meta')).toEqual([])
})

it('an error in the entries is reported as damage, unless it says what is wrong', () => {
  const database = makeDatabase()
  const journal = openJournal(database)
  const damage = {
    ...{ code: 'database_unusable', message: expect.stringContaining('the database in memory: it is damaged') },
    cause: expect.any(SyntaxError),
  }
  expect(journal.toDamage(new SyntaxError('no JSON'))).toMatchObject(damage)
  const told = journal.toDamage(new SyntaxError('no JSON'))
  expect(journal.toDamage(told)).toBe(told)
  const error = new Error('any')
  expect(openJournal().toDamage(error)).toBe(error)
})
