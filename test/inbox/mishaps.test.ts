import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type InboxItem, systemClock } from 'postern'
import { openSqlite, sqliteInbox } from 'postern/sqlite'
import { events, silentLogger } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Settlement } from '../../src/engine.ts'
import { DONE, putMany, work } from '../adapters/inbox/engines.ts'
import { drivers } from '../adapters/stores/sqlite/drivers.ts'
import { makePath, Scene, until } from './scene.ts'

const event = events.contact.created
const FAILED = { n: 1, dueAt: 0, startedAt: 0, endedAt: 0, code: 'x', worker: 'w' }
const HOUR_MS = 3_600_000
/** Size of a page of a SQLite file. */
const PAGE = 4_096

/** Handles the items of a separate inbox, one at a time, by a clock that the test sets. */
function openTable() {
  const database = openSqlite(makePath())
  onTestFinished(() => database.close())
  const clock = { now: Date.now }
  const { monotonic } = systemClock
  const inbox = sqliteInbox({ database, clock: { now: () => clock.now(), monotonic } })
  const workOff = async (settlement: Settlement = DONE) => {
    const order: string[] = []
    const loop = work(inbox, ({ accountKey }) => {
      order.push(accountKey)
      return settlement
    })
    await until('it is worked off', async () => (await inbox.counts()).oldestDueAt === undefined)
    await loop.close(10_000)
    return order
  }
  return {
    database,
    clock,
    inbox,
    putMany: (account: string, count: number) => putMany(inbox, account, count),
    workOff,
  }
}

describe('a worker', () => {
  it('does not defer its items for lack of places: its concurrency is the limit', async () => {
    const scene = new Scene({ maxInFlight: 2 })
    scene.receiver.on('*', () => sleep(20))
    for (let n = 0; n < 20; n++) await scene.deliver(event())
    scene.work({ concurrency: 5 })
    await scene.untilIdle()
    expect(scene.outcomes.map(({ outcome }) => outcome).sort()).toEqual([
      ...Array(20).fill('accepted'),
      ...Array(20).fill('handled'),
    ])
  })

  it('runs many concurrently without a warning of Node.js', async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error) => void warnings.push(warning)
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    const scene = new Scene()
    scene.receiver.on('*', () => sleep(100))
    for (let n = 0; n < 30; n++) await scene.deliver(event())
    scene.work({ concurrency: 30 })
    await scene.untilIdle()
    expect(warnings.filter(({ name }) => name === 'MaxListenersExceededWarning')).toEqual([])
  })

  it('continues past a damaged row, and also runs that', async () => {
    const scene = new Scene()
    let runs = 0
    scene.receiver.on('*', () => void runs++)
    for (let n = 0; n < 3; n++) await scene.deliver(event())
    scene.database.exec("UPDATE postern_inbox SET tries = '{', marks = '5', trace = '' WHERE seq = 2")
    expect((await scene.inbox.list('waiting')).entries).toHaveLength(3)
    scene.work()
    await scene.untilIdle()
    expect(runs).toBe(3)
  })
})

describe('the turns of accounts', () => {
  it.each([
    ['the clock goes on', 100],
    ['the clock is set back', -86_400_000],
  ])('are not behind because of a burst that was handled (%s)', async (_, passedMs) => {
    const { clock, putMany, workOff } = openTable()
    const now = Date.now()
    clock.now = () => now
    await putMany('quick', 300)
    await workOff()
    clock.now = () => now + passedMs
    await putMany('slow', 100)
    await putMany('quick', 1)
    expect((await workOff()).indexOf('quick')).toBeLessThan(20)
  })
})

describe('a wall clock', () => {
  it('that is set back puts no retry off for longer than its delay', async () => {
    const { clock, inbox, putMany, workOff } = openTable()
    const now = Date.now()
    clock.now = () => now
    await putMany('acme', 1)
    await workOff({ next: 'wait', afterMs: 60_000, isFailure: true, tried: FAILED })
    clock.now = () => now - HOUR_MS
    await workOff()
    expect((await inbox.list('waiting')).entries).toMatchObject([{ dueAt: now - HOUR_MS + 60_000 }])
  })

  it('that is set ahead by mistake makes no dead letter old, until time goes by', async () => {
    const { clock, inbox, putMany, workOff } = openTable()
    await putMany('acme', 1)
    await workOff({ next: 'bury', marks: [], tried: FAILED })
    clock.now = () => Date.now() + 31 * 24 * HOUR_MS
    await workOff()
    await putMany('acme', 1)
    await workOff()
    expect(await inbox.counts()).toMatchObject({ waiting: 0, dead: 1 })
  })
})

describe.each(drivers)('a damaged page of the file, by %s,', (driver) => {
  /** Opens the file, and handles its events once `work` is called. */
  function openFile(path: string, bytes = 10) {
    const database = openSqlite(path, { driver })
    onTestFinished(() => database.close())
    const inbox = sqliteInbox({ database })
    const log: { readonly fields: object; readonly message: string }[] = []
    inbox.reportTo?.({ ...silentLogger, error: (fields, message) => void log.push({ fields, message }) })
    const toItem = (key: string): InboxItem => {
      const own = Buffer.alloc(bytes, `${key},`)
      return { bytes: own, key, id: key, accountKey: 'acme', type: 'a.created', receivedAt: 0 }
    }
    const handled: string[] = []
    const run = ({ key, bytes }: InboxItem) => {
      expect(Buffer.from(bytes).equals(toItem(key).bytes), `the body of ${key}`).toBe(true)
      handled.push(key)
      return DONE
    }
    return { database, inbox, handled, log, work: () => work(inbox, run), put: (key: string) => inbox.put(toItem(key)) }
  }

  /** Puts events in, and overwrites a page of the table that has the given kind. */
  async function openDamaged(table: string, kind: string, count: number, bytes: number) {
    const path = makePath()
    const { database, put } = openFile(path, bytes)
    await Promise.all(Array.from({ length: count }, (_, n) => put(String(n))))
    database.pragma('wal_checkpoint(TRUNCATE)')
    const find = database.prepare('SELECT pageno FROM dbstat WHERE name = ? AND pagetype = ? ORDER BY pageno')
    const pages = find.all(table, kind).map(({ pageno }) => Number(pageno))
    database.close()
    const place = ((pages[Math.floor(pages.length / 2)] ?? 0) - 1) * PAGE
    const sound = readFileSync(path).subarray(place, place + PAGE)
    const write = (page: Uint8Array) => {
      const file = openSync(path, 'r+')
      writeSync(file, page, 0, PAGE, place)
      closeSync(file)
    }
    write(Buffer.alloc(PAGE, 0xa5))
    const opened = openFile(path, bytes)
    const repair = () => {
      write(sound)
      opened.database.pragma('shrink_memory')
    }
    return { ...opened, repair }
  }

  it('with the body of an event makes that a dead letter, which can be dropped, and the others run', async () => {
    const { inbox, handled, log, work } = await openDamaged('postern_inbox_bodies', 'overflow', 5, 20_000)
    work()
    await until('the others have run', () => handled.length === 4)
    const [{ key = '' } = {}] = (await inbox.list('dead')).entries
    expect(await inbox.get(key)).toMatchObject({
      state: 'dead',
      bytes: new Uint8Array(),
      tries: [{ code: 'unreadable' }],
    })
    expect(log).toEqual([
      { fields: expect.objectContaining({ key }), message: expect.stringMatching(/body cannot be read.*recover/) },
    ])
    expect(await inbox.replay(key)).toBe(true)
    await until('it is a dead letter again', async () => (await inbox.get(key))?.tries.length === 2)
    expect(await inbox.drop(key)).toBe(true)
    expect(await inbox.counts()).toMatchObject({ waiting: 0, running: 0, dead: 0 })
  })

  it('loses no event whose page can be read again, and runs no other event with its body', async () => {
    const { inbox, handled, work, repair, put } = await openDamaged('postern_inbox_bodies', 'overflow', 1, 20_000)
    work()
    await until('it is a dead letter', async () => (await inbox.counts()).dead === 1)
    for (let n = 1; n <= 30; n++) await put(String(n))
    await until('the new ones have run', () => handled.length === 30)
    repair()
    expect(await inbox.replay('0')).toBe(true)
    await until('it has run', () => handled.includes('0'))
    for (let n = 31; n <= 60; n++) await put(String(n))
    await until('all have run', () => handled.length === 61)
    expect(await inbox.counts()).toMatchObject({ waiting: 0, dead: 0 })
  })

  it('leaves bodies out of a repaired file: those are dead letters, and new events come in', async () => {
    const { database, inbox, handled, work, put } = openFile(makePath())
    for (const key of ['1', '2', '3']) await put(key)
    database.exec('DELETE FROM postern_inbox_bodies WHERE seq > 1')
    await put('4')
    work()
    await until('both have run', () => handled.length === 2)
    expect(handled.sort()).toEqual(['1', '4'])
    await until('the others are dead letters', async () => (await inbox.counts()).dead === 2)
    const { entries } = await inbox.list('dead')
    expect(entries.map(({ tries }) => tries.at(-1)?.code)).toEqual(['unreadable', 'unreadable'])
  })

  it('with the rows of events keeps no others from running', async () => {
    const { handled, log, put, work } = await openDamaged('postern_inbox', 'leaf', 500, 10)
    work()
    await until('most have run', () => handled.length > 300)
    await put('new')
    await until('a new one has run', () => handled.includes('new'))
    expect(log.map(({ message }) => message)).toContainEqual(expect.stringMatching(/leaves out events.*recover/))
  })
})

describe('counts', () => {
  it('know since when an item waits that is due again, even if no worker runs', async () => {
    const { clock, inbox, putMany, workOff } = openTable()
    await putMany('acme', 1)
    await workOff({ next: 'wait', afterMs: 60_000, isFailure: true, tried: FAILED })
    expect(await inbox.counts()).toMatchObject({ waiting: 1, oldestDueAt: undefined })
    const dueAt = (await inbox.list('waiting')).entries[0]?.dueAt
    const later = Date.now() + 120_000
    clock.now = () => later
    expect(await inbox.counts()).toMatchObject({ waiting: 1, oldestDueAt: dueAt })
  })
})
