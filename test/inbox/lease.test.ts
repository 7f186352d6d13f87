import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, systemClock } from 'postern'
import { openSqlite, sqliteInbox } from 'postern/sqlite'
import { expect, it, onTestFinished } from 'vitest'
import type { Settlement } from '../../src/engine.ts'
import { makePath, until } from './scene.ts'

/** The clock of a machine that is busy. */
const late: Clock = { ...systemClock, setTimeout: (callback, ms) => systemClock.setTimeout(callback, ms * 1.01) }
/** A clock by which a worker searches for items all the time. */
const eager: Clock = { ...systemClock, setTimeout: (callback) => systemClock.setTimeout(callback, 1) }

/** An inbox in the view of one process, whose handlers never end. */
function open(path: string) {
  const database = openSqlite(path)
  onTestFinished(() => database.close())
  const inbox = sqliteInbox({ database })
  const taken: string[] = []
  const work = (clock: Clock, leaseMs: number) => {
    const run = ({ key }: { readonly key: string }) => {
      taken.push(key)
      return new Promise<Settlement>(() => {})
    }
    const loop = inbox.work(run, { concurrency: 5, leaseMs, clock, onError: () => {}, onSettled: () => {} })
    onTestFinished(async () => void (await loop.close(0)))
  }
  return { database, inbox, taken, work }
}

it('a lease outlives a lock of the file that is a little shorter', async () => {
  const path = makePath()
  const [holder, other] = [open(path), open(path)]
  const item = { key: 'slow', bytes: new Uint8Array(), accountKey: 'acme', id: 'slow', type: 'a.created' }
  await holder.inbox.put({ ...item, receivedAt: 0 })
  holder.work(late, 9_000)
  await until('it runs', () => holder.taken.length === 1)
  // A renewal at 3 s gives up at 5.5 s, the next at 8.5 s; and at 9 s the lease ends.
  await sleep(2_800)
  other.database.exec('BEGIN IMMEDIATE')
  await sleep(5_900)
  other.database.exec('COMMIT')
  await sleep(50)
  other.work(eager, 15_000)
  await sleep(1_000)
  expect([other.taken, (await other.inbox.get('slow'))?.state]).toEqual([[], 'running'])
})
