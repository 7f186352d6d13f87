import { closeSync, copyFileSync, openSync, statSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from 'postern'
import { openSqlite, type SqliteDatabase, sqliteStore } from 'postern/sqlite'
import { describe, expect, it } from 'vitest'
import { DRIVERS } from '../../../../adapters/stores/sqlite/drivers.ts'
import { drivers } from './drivers.ts'
import { closing, makeFolder } from './folder.ts'

const DAY_MS = 86_400_000
const LEASE_MS = 15_000
const PAGE = 4_096
const fileOf = makeFolder()
let files = 0

interface IteratingConnection {
  prepare(sql: string): { iterate(): Iterator<unknown> }
}

describe.each(drivers)('a store on %s', (driver) => {
  function open(path = fileOf(`faults-${files++}.db`)): SqliteDatabase {
    return closing(openSqlite(path, { driver, synchronous: 'normal' }))
  }
  const rowsOf = (database: SqliteDatabase) =>
    Number(database.prepare('SELECT count(*) AS n FROM postern_events').get()?.n)
  const handle = async (store: Store, key: string) => {
    const claim = await store.claim(key, LEASE_MS)
    if (claim.state !== 'claimed') throw new Error(`${key} is ${claim.state}`)
    expect(await store.complete(key, claim.token)).toBe(true)
  }

  it('forgets rows as fast as new ones arrive, even if the app restarts each day', async () => {
    const A_DAY = 40
    const KEPT = 7 * A_DAY
    const keyOf = (number: number) => `7:default4:acme8:${((number * 2_654_435_761) >>> 0).toString(36)}-${number}`
    const path = fileOf(`faults-${files++}.db`)
    let now = Date.now()
    let number = 0
    let most = 0
    for (let day = 0; day < 20; day++) {
      const database = openSqlite(path, { driver, synchronous: 'normal' })
      const store = sqliteStore({ database, retentionMs: 7 * DAY_MS, clock: { now: () => now } })
      for (let count = 0; count < A_DAY; count++) {
        await handle(store, keyOf(number++))
        now += DAY_MS / A_DAY
      }
      most = Math.max(most, rowsOf(database))
      database.close()
    }
    expect(most).toBeLessThan(2.2 * KEPT)
  })

  it('fails the claim of a broken row, and no other of its group', async () => {
    const database = open()
    const store = sqliteStore({ database })
    await handle(store, 'other')
    const claim = await store.claim('broken', LEASE_MS)
    if (claim.state !== 'claimed') throw new Error('it is free')
    await store.release('broken', claim.token, ['a'])
    database.exec(`UPDATE postern_events SET marks = '{' WHERE key = 'broken'`)
    const keys = ['a', 'b', 'broken', 'c', 'd']
    const results = await Promise.allSettled(keys.map(async (key) => store.claim(key, LEASE_MS)))
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
    await handle(store, 'e')
  })

  it.skipIf(driver === 'node:sqlite')('waits while the app iterates over rows on the same connection', async () => {
    const opener = DRIVERS[driver]()
    if (typeof opener === 'string') throw new Error(opener)
    const connection = closing(opener(fileOf(`faults-${files++}.db`)))
    const store = sqliteStore({ database: connection })
    for (const key of ['a', 'b', 'c']) await handle(store, key)
    const rows = (connection as object as IteratingConnection).prepare('SELECT key FROM postern_events').iterate()
    rows.next()
    const claiming = store.claim('d', LEASE_MS)
    await sleep(100)
    rows.return?.()
    expect(await claiming).toMatchObject({ state: 'claimed' })
  })

  it.skipIf(driver !== 'better-sqlite3').each([
    ['the next statement', true],
    ['itself', false],
  ])('rolls back work that leaves an iteration open once the iteration has ended, by %s', async (_by, isUsed) => {
    const path = fileOf(`faults-${files++}.db`)
    const [database, other] = [open(path), sqliteStore({ database: open(path) })]
    const store = sqliteStore({ database })
    database.exec('CREATE TABLE mine (x); INSERT INTO mine VALUES (1), (2)')
    const claim = await store.claim('a', LEASE_MS)
    if (claim.state !== 'claimed') throw new Error('it is free')
    const connection = database.connection as object as IteratingConnection
    let rows: Iterator<unknown> | undefined
    const work = () => {
      database.exec('INSERT INTO mine VALUES (3)')
      rows = connection.prepare('SELECT x FROM mine').iterate()
      rows.next()
    }
    const working = store.transactionSync(
      { key: 'a', token: claim.token, mark: 'm', signal: new AbortController().signal },
      work,
    )
    await expect(working).rejects.toMatchObject({ code: 'transaction_misused', message: /iterat/ })
    rows?.return?.()
    if (isUsed) database.exec('INSERT INTO mine VALUES (4)')
    await handle(other, 'b')
    const left = database.prepare('SELECT x FROM mine').all()
    expect(left).toEqual(isUsed ? [{ x: 1 }, { x: 2 }, { x: 4 }] : [{ x: 1 }, { x: 2 }])
    await handle(store, 'c')
  })

  describe('reports the fault of its file, and works again once that is repaired', () => {
    const failureOf = async (store: Store, key: string): Promise<unknown> => {
      const [result] = await Promise.allSettled([store.claim(key, LEASE_MS)])
      return result.status === 'rejected' ? result.reason : result.value
    }
    const saying = (text: RegExp) => ({ code: 'store_unavailable', message: expect.stringMatching(text) })

    it('if it is read-only', async () => {
      const database = open()
      const store = sqliteStore({ database })
      database.pragma('query_only = 1')
      expect(await failureOf(store, 'a')).toMatchObject(saying(/^The SQLite database .*read-only.*right to write/))
      database.pragma('query_only = 0')
      await handle(store, 'a')
    })

    it('if the disk is full', async () => {
      const database = open()
      const store = sqliteStore({ database })
      database.pragma(`max_page_count = ${database.pragma('page_count')[0]?.page_count}`)
      const keys = Array.from({ length: 300 }, (_, index) => `no room ${index}`)
      const failures = await Promise.all(keys.map((key) => failureOf(store, key)))
      expect(failures.at(-1)).toMatchObject(saying(/^The SQLite database .*no room.*max_page_count/))
      database.pragma('max_page_count = 1000000')
      await handle(store, 'b')
    })

    it('if it is damaged', async () => {
      const path = fileOf(`faults-${files++}.db`)
      const first = open(path)
      const filled = sqliteStore({ database: first })
      for (let count = 0; count < 500; count++) await handle(filled, `key ${count}`)
      first.pragma('wal_checkpoint(TRUNCATE)')
      const store = sqliteStore({ database: open(path) })
      copyFileSync(path, `${path}.copy`)
      const file = openSync(path, 'r+')
      for (let page = 4; page * PAGE < statSync(path).size; page++)
        writeSync(file, Buffer.alloc(PAGE, 0xa5), 0, PAGE, page * PAGE)
      closeSync(file)
      expect(await failureOf(store, 'key 250')).toMatchObject(saying(/^The SQLite database .*damaged.*intact copy/))
      copyFileSync(`${path}.copy`, path)
      const restarted = sqliteStore({ database: open(path) })
      expect(await restarted.claim('key 250', LEASE_MS)).toEqual({ state: 'done' })
      await handle(restarted, 'another')
    })

    it('if another process has it locked, or the app itself', async () => {
      const path = fileOf(`faults-${files++}.db`)
      const [database, other] = [open(path), open(path)]
      const store = sqliteStore({ database })
      other.exec('BEGIN IMMEDIATE')
      expect(await failureOf(store, 'a')).toMatchObject(saying(/^The SQLite database .*another.*locked/))
      other.exec('COMMIT')
      database.exec('BEGIN')
      expect(await failureOf(store, 'a')).toMatchObject(saying(/^The SQLite database .*the app.*same connection/))
      database.exec('COMMIT')
      await handle(store, 'a')
    })
  })

  it('leaves the event loop free while another process has its file locked, and works once it is free', async () => {
    const path = fileOf(`faults-${files++}.db`)
    const store = sqliteStore({ database: open(path) })
    await handle(store, 'done')
    const other = open(path)
    other.exec('BEGIN EXCLUSIVE')
    let turns = 0
    const ticking = setInterval(() => turns++, 10)
    const claims = await Promise.allSettled(['fresh', 'done'].map(async (key) => store.claim(key, LEASE_MS)))
    clearInterval(ticking)
    expect(claims.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    // Some 250 if nothing else runs. Waiting inside of SQLite would leave a dozen.
    expect(turns).toBeGreaterThan(20)
    const waiting = handle(store, 'fresh')
    other.exec('COMMIT')
    await waiting
    expect(await store.claim('done', LEASE_MS)).toEqual({ state: 'done' })
  })

  it('has a write-ahead log that shrinks after a long read has ended', async () => {
    const path = fileOf(`faults-${files++}.db`)
    const [database, reader] = [open(path), open(path)]
    database.exec('CREATE TABLE big (x TEXT)')
    reader.exec('BEGIN')
    reader.prepare('SELECT count(*) FROM big').get()
    for (let count = 0; count < 40; count++) database.exec(`INSERT INTO big VALUES (hex(randomblob(500000)))`)
    const sizeOf = () => statSync(`${path}-wal`).size
    expect(sizeOf()).toBeGreaterThan(30_000_000)
    reader.exec('COMMIT')
    const store = sqliteStore({ database })
    for (let count = 0; count < 5; count++) await handle(store, `after ${count}`)
    expect(sizeOf()).toBeLessThan(20_000_000)
  })
})
