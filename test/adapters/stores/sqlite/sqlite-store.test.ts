import type { Store } from 'postern'
import {
  openSqlite,
  type SqliteDatabase,
  type SqliteDriver,
  type SqliteStoreOptions,
  sqliteInbox,
  sqliteStore,
} from 'postern/sqlite'
import { describe, expect, it } from 'vitest'
import { DRIVERS } from '../../../../adapters/stores/sqlite/drivers.ts'
import { refuseNetwork } from '../../../../adapters/stores/sqlite/open-table.ts'
import { failure } from '../../../receiver/support.ts'
import { drivers } from './drivers.ts'
import { closing, makeFolder } from './folder.ts'

const LEASE_MS = 15_000
const DAY_MS = 86_400_000
const fileOf = makeFolder()
let files = 0

function open(path = fileOf(`${files++}.db`), driver = drivers[0]): SqliteDatabase {
  return closing(openSqlite(path, driver === undefined ? {} : { driver }))
}

async function take(store: Store, key = 'key') {
  const claim = await store.claim(key, LEASE_MS)
  if (claim.state !== 'claimed') throw new Error(`${key} is ${claim.state}`)
  return claim
}

const failureOf = (options: object) => failure(() => sqliteStore(options as SqliteStoreOptions)) // plain JavaScript may pass it

function rowsOf(database: SqliteDatabase, table = 'postern_events'): number {
  return Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n)
}

describe.each(drivers)('sqliteStore on %s', (driver) => {
  it("accepts a driver's own connection, and leaves its settings alone", async () => {
    const path = fileOf(`own-${driver.replace(':', '-')}.db`)
    const opener = DRIVERS[driver]()
    if (typeof opener === 'string') throw new Error(opener)
    const connection = closing(opener(path))
    connection.exec('PRAGMA busy_timeout = 123; PRAGMA synchronous = NORMAL')
    const store = sqliteStore({ database: connection })
    const { token } = await take(store)
    expect(await store.complete('key', token)).toBe(true)
    const again = sqliteStore({ database: open(path, driver) })
    expect(await again.claim('key', LEASE_MS)).toEqual({ state: 'done' })
    const read = connection.prepare('PRAGMA busy_timeout') as { readonly get: (list?: []) => unknown } // all three have it
    expect(driver === 'libsql' ? read.get([]) : read.get()).toMatchObject({ timeout: 123 })
  })

  it('remembers events over a restart, including marks and running claims', async () => {
    const path = fileOf(`restart-${driver.replace(':', '-')}.db`)
    const database = openSqlite(path, { driver })
    const before = sqliteStore({ database })
    await before.complete('done', (await take(before, 'done')).token)
    await before.release('half', (await take(before, 'half')).token, ['a', 'b'])
    const { token } = await take(before, 'held')
    database.close()
    const after = sqliteStore({ database: open(path, driver) })
    expect(await after.claim('done', LEASE_MS)).toEqual({ state: 'done' })
    expect((await take(after, 'half')).marks).toEqual(['a', 'b'])
    expect(await after.claim('held', LEASE_MS)).toEqual({ state: 'busy' })
    expect(await after.complete('held', token)).toBe(true)
  })

  it('waits for a transaction that the app has open on the same connection', async () => {
    const database = open(undefined, driver)
    const store = sqliteStore({ database })
    database.exec('CREATE TABLE words (word); BEGIN; INSERT INTO words VALUES (1)')
    const claim = take(store)
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(rowsOf(database)).toBe(0)
    database.exec('ROLLBACK')
    await claim
    expect(rowsOf(database)).toBe(1)
    expect(rowsOf(database, 'words')).toBe(0)
  })
})

describe('the clock', () => {
  it('frees a lease that began in the future, since the clock was set back, and no other', async () => {
    const clock = { time: 10 * DAY_MS, now: () => clock.time }
    const store = sqliteStore({ database: open(), clock })
    const first = await take(store)
    clock.time -= 900
    expect(await store.claim('key', LEASE_MS)).toEqual({ state: 'busy' })
    clock.time -= 200
    const second = await take(store)
    expect(await store.complete('key', first.token)).toBe(false)
    expect(await store.complete('key', second.token)).toBe(true)
    clock.time -= DAY_MS
    expect(await store.claim('key', LEASE_MS)).toEqual({ state: 'done' })
  })

  it('is wall time, so that a process that starts later knows when a lease ends', async () => {
    const [early, late] = [{ now: () => 1_000 }, { now: () => 1_000 + LEASE_MS }]
    const path = fileOf('wall.db')
    await take(sqliteStore({ database: open(path), clock: early }))
    expect((await take(sqliteStore({ database: open(path), clock: late }))).marks).toEqual([])
  })
})

describe('the table', () => {
  it('keeps running claims and marks no matter what is swept', async () => {
    const clock = { time: DAY_MS, now: () => clock.time }
    const store = sqliteStore({ database: open(), clock, retentionMs: 1_000 })
    const held = await take(store, 'a-held')
    await store.release('a-half', (await take(store, 'a-half')).token, ['mark'])
    clock.time += 900
    for (let turn = 0; turn < 50; turn++) await take(store, `b-${turn}`)
    expect((await take(store, 'a-half')).marks).toEqual(['mark'])
    clock.time += 1_000
    for (let turn = 0; turn < 200; turn++) await take(store, `c-${turn}`)
    expect(await store.claim('a-held', LEASE_MS)).toEqual({ state: 'busy' })
    expect(await store.renew('a-held', held.token, LEASE_MS, [])).toBe(true)
  })

  it('has the given name, so that two apps can share a file', async () => {
    const database = open()
    const [one, two] = [sqliteStore({ database }), sqliteStore({ database, table: 'Events_2' })]
    await one.complete('key', (await take(one)).token)
    expect(await two.claim('key', LEASE_MS)).toMatchObject({ state: 'claimed' })
    expect([rowsOf(database), rowsOf(database, 'Events_2')]).toEqual([1, 1])
  })
})

describe('an unusable database', () => {
  const readOnly = () => {
    const database = open()
    sqliteStore({ database })
    database.pragma('query_only = 1')
    return database
  }
  const taken = () => {
    const database = open()
    database.exec('CREATE TABLE postern_events (name)')
    return database
  }
  const closed = (driver: SqliteDriver) => {
    const database = openSqlite(fileOf(`closed-${driver.replace(':', '-')}.db`), { driver })
    database.close()
    return database
  }
  it.each(drivers)('is reported as closed by %s', (driver) => {
    const fix = 'its connection is closed. Open it before the store or the inbox is created'
    expect(failureOf({ database: closed(driver) }).message).toContain(fix)
    expect(failure(() => sqliteInbox({ database: closed(driver) })).message).toContain(fix)
  })

  it.each([
    ['a database in memory', () => open(':memory:'), 'database_unusable', /would lose every event/],
    ['one that cannot be written', readOnly, 'database_unusable', /read-only/],
    ['one with such a table of another kind', taken, 'database_unusable', /another name as table/],
    ['a path', () => 'app.db', 'option_invalid', /openSqlite\(path\)/],
  ])('is reported with the fix: %s', (_what, makeDatabase, code, message) => {
    const failure = failureOf({ database: makeDatabase() })
    expect(failure.code).toBe(code)
    expect(failure.message).toMatch(message)
  })

  it.each([
    [{ table: 'a; DROP TABLE b' }, 'option_invalid', /letters, digits/],
    [{ retentionMs: 101 * 365 * DAY_MS }, 'option_invalid', /from 1 to/],
    [{ clock: {} }, 'option_invalid', /it has no now\(\)/],
    [{ path: 'app.db' }, 'option_unknown', /database, retentionMs, table, clock/],
  ])('refuses %j', (options, code, message) => {
    const failure = failureOf({ database: open(), ...options })
    expect(failure.code).toBe(code)
    expect(failure.message).toMatch(message)
  })

  it('recognizes a network file system by its number', () => {
    expect(() => refuseNetwork('/mnt/app.db', 0x6969, 'sqliteStore')).toThrow(/network file system \(NFS\)/)
    expect(() => refuseNetwork('/mnt/app.db', 0xef53, 'sqliteStore')).not.toThrow()
    expect(() => refuseNetwork('/mnt/app.db', undefined, 'sqliteStore')).not.toThrow()
  })
})
