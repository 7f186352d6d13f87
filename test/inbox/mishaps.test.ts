import { setTimeout as sleep } from 'node:timers/promises'
import { type InboxItem, type Settlement, systemClock } from 'postern'
import { openSqlite, sqliteInbox } from 'postern/sqlite'
import { events } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makePath, Scene, until } from './scene.ts'

const event = events.contact.created

/** Handles the items of a separate inbox, one at a time, by a clock that the test sets. */
function openTable() {
  const database = openSqlite(makePath())
  onTestFinished(() => database.close())
  const clock = { now: Date.now }
  const inbox = sqliteInbox({ database, clock: { now: () => clock.now() } })
  let n = 0
  const put = (accountKey: string): InboxItem => {
    const id = String(n++)
    return { key: id, bytes: new Uint8Array(), accountKey, id, type: 'a.created', receivedAt: 0 }
  }
  const putMany = (accountKey: string, count: number) =>
    Promise.all(Array.from({ length: count }, () => inbox.put(put(accountKey))))
  const workOff = async (settlement: Settlement = { next: 'remove' }) => {
    const order: string[] = []
    const run = async ({ accountKey }: InboxItem) => {
      order.push(accountKey)
      return settlement
    }
    const options = { concurrency: 10, leaseMs: 15_000, clock: systemClock, onError: () => {}, onSettled: () => {} }
    const loop = inbox.work(run, options)
    await until('it is worked off', async () => (await inbox.counts()).oldestDueAt === undefined)
    await loop.close(10_000)
    return order
  }
  return { database, clock, inbox, putMany, workOff }
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

  it('of a closed receiver takes nothing', async () => {
    const scene = new Scene()
    scene.receiver.on('*', () => {})
    await scene.deliver(event())
    await scene.receiver.close()
    scene.work()
    await sleep(300)
    expect(scene.outcomes).toMatchObject([{ outcome: 'accepted' }])
    expect(await scene.inbox.counts()).toMatchObject({ waiting: 1, running: 0 })
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

describe('counts', () => {
  it('know since when an item waits that is due again, even if no worker runs', async () => {
    const { clock, inbox, putMany, workOff } = openTable()
    await putMany('acme', 1)
    const tried = { n: 1, dueAt: 0, startedAt: 0, endedAt: 0, code: 'x', worker: 'w' }
    await workOff({ next: 'wait', afterMs: 60_000, isFailure: true, tried })
    expect(await inbox.counts()).toMatchObject({ waiting: 1, oldestDueAt: undefined })
    const dueAt = (await inbox.list('waiting')).entries[0]?.dueAt
    const later = Date.now() + 120_000
    clock.now = () => later
    expect(await inbox.counts()).toMatchObject({ waiting: 1, oldestDueAt: dueAt })
  })
})
