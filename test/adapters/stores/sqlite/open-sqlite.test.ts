import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type OpenSqliteOptions, openSqlite, type SqliteDatabase } from 'postern/sqlite'
import { describe, expect, it } from 'vitest'
import { refuseCrash } from '../../../../adapters/stores/sqlite/drivers.ts'
import { resultCodeOf } from '../../../../adapters/stores/sqlite/faults.ts'
import { failure } from '../../../receiver/support.ts'
import { ROOT } from '../../../support/repository.ts'
import { drivers } from './drivers.ts'
import { closing, makeFolder } from './folder.ts'

const fileOf = makeFolder()

function open(path: string, options?: OpenSqliteOptions): SqliteDatabase {
  return closing(openSqlite(path, options))
}

const failureOf = (path: string, options: object = {}) => failure(() => open(path, options))

describe.each(drivers)('openSqlite on %s', (driver) => {
  const path = fileOf(`${driver.replace(':', '-')}.db`)

  it('opens a file with write-ahead logging, synchronous writes and a short wait for locks', () => {
    const database = open(path, { driver })
    expect(database.driver).toBe(driver)
    expect(database.pragma('journal_mode')).toMatchObject([{ journal_mode: 'wal' }])
    expect(database.pragma('synchronous')).toMatchObject([{ synchronous: 2 }])
    expect(database.pragma('busy_timeout')).toMatchObject([{ timeout: 200 }])
  })

  it('accepts another wait and fewer syncs', () => {
    const database = open(path, { driver, synchronous: 'normal', busyTimeoutMs: 7 })
    expect(database.pragma('synchronous')).toMatchObject([{ synchronous: 1 }])
    expect(database.pragma('busy_timeout')).toMatchObject([{ timeout: 7 }])
  })

  it('returns the values that were written', () => {
    const database = open(':memory:', { driver })
    database.exec('CREATE TABLE kinds (a, b, c, d, e)')
    const bytes = Uint8Array.of(0, 255)
    const insert = database.prepare('INSERT INTO kinds VALUES (?, ?, ?, ?, ?)')
    expect(insert.run(null, 2 ** 53 - 1, 'Zoë\n', bytes, 1.5)).toMatchObject({ changes: 1 })
    const select = database.prepare('SELECT * FROM kinds WHERE b = ?')
    for (const row of [select.get(2 ** 53 - 1), ...select.all(2 ** 53 - 1)]) {
      const { d, ...others } = { ...row }
      expect(others).toEqual({ a: null, b: 2 ** 53 - 1, c: 'Zoë\n', e: 1.5 })
      expect(d).toBeInstanceOf(Uint8Array)
      expect(Buffer.from(d as Uint8Array)).toEqual(Buffer.from(bytes)) // checked just before
    }
    // Answers of one statement are independent of each other; libsql's own would not be.
    expect(select.get(1)).toBeUndefined()
    expect(select.all(1)).toEqual([])
    expect(select.get(2 ** 53 - 1)).toMatchObject({ e: 1.5 })
    expect(database.prepare('SELECT ? AS only').get(null)).toMatchObject({ only: null })
    expect(insert.run(null, null, null, null, null)).toMatchObject({ changes: 1 })
  })

  it('commits a transaction, and rolls back work that throws', () => {
    const database = open(':memory:', { driver })
    database.exec('CREATE TABLE words (word)')
    const insert = database.prepare('INSERT INTO words VALUES (?)')
    expect(database.transaction(() => insert.run('kept')).changes).toBe(1)
    expect(() =>
      database.transaction(() => {
        insert.run('lost')
        throw new RangeError('no')
      }),
    ).toThrow(RangeError)
    expect(database.prepare('SELECT word FROM words').all()).toEqual([{ word: 'kept' }])
  })

  it('rolls back work that returns a promise, and explains why', () => {
    const database = open(':memory:', { driver })
    database.exec('CREATE TABLE words (word)')
    expect(() => database.transaction(async () => database.exec("INSERT INTO words VALUES ('lost')"))).toThrow(
      /returned a promise/,
    )
    expect(database.prepare('SELECT word FROM words').all()).toEqual([])
  })

  it('reports a locked file after its wait, and a full disk, by SQLite’s own names', () => {
    const [first, second] = [open(path, { driver }), open(path, { driver, busyTimeoutMs: 20 })]
    first.exec('BEGIN IMMEDIATE')
    expect(codeOf(() => second.exec('BEGIN IMMEDIATE'))).toBe('SQLITE_BUSY')
    first.exec('ROLLBACK')
    const small = open(fileOf(`small-${driver.replace(':', '-')}.db`), { driver })
    small.exec('CREATE TABLE words (word)')
    small.pragma('max_page_count = 2')
    expect(codeOf(() => small.exec('INSERT INTO words VALUES (zeroblob(100000))'))).toBe('SQLITE_FULL')
  })

  it('opens a path of unusual characters as a file of that name', () => {
    const odd = fileOf(`ü ?#%20'"${driver.replace(':', '-')}.db`)
    open(odd, { driver }).exec('CREATE TABLE t (a)')
    expect(existsSync(odd)).toBe(true)
  })

  it.each([
    ['a folder that is not there', () => fileOf('nowhere/app.db'), /folder must exist/],
    ['a folder that it cannot write to', () => '/proc/app.db', /allowed to write to it/],
    ['a folder', () => fileOf(''), /cannot open/],
    ['a file that is no database', () => makeText(fileOf('text.db')), /not a SQLite database/],
  ])('refuses %s', (_what, makePath, message) => {
    const failure = failureOf(makePath(), { driver })
    expect(failure.code).toBe('database_unusable')
    expect(failure.message).toMatch(message)
  })
})

describe('openSqlite', () => {
  it('uses the first driver that is installed', () => {
    expect(open(':memory:').driver).toBe(drivers[0])
  })

  it.each([
    ['', {}, 'option_invalid', /not the path of a file/],
    ['file:app.db?mode=ro', {}, 'option_invalid', /not the path of a file/],
    ['libsql://db.example.test', {}, 'option_invalid', /not the path of a file/],
    ['a\0b', {}, 'option_invalid', /not the path of a file/],
    [':memory:', { driver: 'sqlite3' }, 'option_invalid', /one of node:sqlite, better-sqlite3, libsql/],
    [':memory:', { synchronous: 'off' }, 'option_invalid', /one of full, normal/],
    [':memory:', { timeout: 5 }, 'option_unknown', /driver, synchronous, busyTimeoutMs/],
  ])('refuses %j with %j', (path, options, code, message) => {
    const failure = failureOf(path, options)
    expect(failure.code).toBe(code)
    expect(failure.message).toMatch(message)
  })

  it.each([
    ['13.2.0', '20.20.2', /install better-sqlite3@12/],
    ['14.0.0', '21.7.0', /install better-sqlite3@12/],
    ['13.2.0', '22.13.0', undefined],
    ['12.11.1', '20.19.0', undefined],
  ])('judges better-sqlite3 %s on Node %s before loading it', (version, node, refusal) => {
    if (refusal === undefined) expect(refuseCrash(version, node)).toBeUndefined()
    else expect(refuseCrash(version, node)).toMatch(refusal)
  })
})

const absent = (['node:sqlite', 'better-sqlite3'] as const).filter((driver) => !drivers.includes(driver))

describe('a driver that is not installed', () => {
  it.each(absent)('is reported with the package to install: %s', (driver) => {
    const failure = failureOf(':memory:', { driver })
    expect(failure.code).toBe('driver_missing')
    expect(failure.message).toContain(`${driver}: `)
    expect(failure.message).toContain('npm install libsql')
  })
})

it('openSqlite skips a better-sqlite3 without its binary', () => {
  const home = fileOf('packages/better-sqlite3')
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'package.json'), '{ "name": "better-sqlite3", "version": "12.0.0", "main": "index.js" }')
  const code = "module.exports = class { constructor() { throw new Error('Could not locate the bindings file') } }"
  writeFileSync(join(home, 'index.js'), code)
  const program = `
    import { openSqlite } from './adapters/stores/sqlite.ts'
    const open = (options) => { try { return openSqlite(':memory:', options).driver } catch (error) { return error.message } }
    console.log(JSON.stringify([open({ driver: 'better-sqlite3' }), open({})]))`
  const args = ['--no-warnings', '--import', 'tsx', '--input-type=module', '--eval', program]
  const env = { ...process.env, NODE_PATH: dirname(home) }
  const [told, taken] = JSON.parse(execFileSync(process.execPath, args, { cwd: ROOT, env, encoding: 'utf8' }))
  expect(told).toContain('better-sqlite3: cannot be loaded: Could not locate the bindings file')
  expect(told).toContain('npm rebuild better-sqlite3')
  expect(taken).toBe(drivers.includes('node:sqlite') ? 'node:sqlite' : 'libsql')
})

function codeOf(work: () => void): string | undefined {
  try {
    work()
  } catch (error) {
    return resultCodeOf(error)
  }
  return 'no error'
}

function makeText(path: string): string {
  writeFileSync(path, 'Not a database, but long enough to be taken for one. '.repeat(100))
  return path
}
