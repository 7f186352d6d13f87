import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { InboxState, InboxTry, Settlement, TakenItem } from '../../../src/inbox/inbox.ts'
import { bury, DONE, expectWhole, fail, makeItem, makeTry, type Runs, SHORT_LEASE_MS } from './trial.ts'

const LONGER_THAN_LEASE_MS = 3_500
/** 40 days: more milliseconds than 32 bits hold, and than a timer of Node waits. */
const LONG_DELAY_MS = 3_456_000_000

export const workCases: Runs = {
  'gives a worker the item as it was put in': async (trial) => {
    const bytes = new Uint8Array([...Array(256).keys(), 0, 255])
    const trace = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', tracestate: 'a=1' }
    const item = makeItem({ bytes, trace, source: 'shop' })
    trial.work(() => DONE)
    await trial.put(item)
    await trial.until('it ran', () => trial.taken.length === 1)
    const [given] = trial.taken as [TakenItem] // it ran
    expectWhole(given, item)
    ok(!given.signal.aborted)
    ok(given.worker.length > 0)
  },
  'runs what is there already, and what another process puts in': async (trial) => {
    const [first, second] = [makeItem(), makeItem()]
    await trial.put(first)
    trial.work(() => DONE)
    await trial.until('the first ran', () => trial.taken.length === 1)
    await trial.another.put(second)
    await trial.until('the second ran', () => trial.taken.length === 2)
    deepStrictEqual(trial.keysTaken, [first.key, second.key])
  },
  'runs as many at once as it is told, and no more': async (trial) => {
    await trial.put(...Array.from({ length: 12 }, () => makeItem()))
    let [running, most, runs] = [0, 0, 0]
    const work = async () => {
      most = Math.max(most, ++running)
      await sleep(30)
      running--
      runs++
      return DONE
    }
    trial.work(work, { concurrency: 3 })
    await trial.until('all ran', () => runs === 12)
    strictEqual(most, 3)
  },
  'runs as many at once as it is told, also of bodies too large to be taken together': async (trial) => {
    const bytes = new Uint8Array(1_048_576).fill(7)
    await trial.put(...Array.from({ length: 8 }, () => makeItem({ bytes })))
    const work = async () => {
      await trial.until('all run', () => trial.taken.length === 8)
      return DONE
    }
    trial.work(work)
    await trial.until('all are gone', () => trial.settled.length === 8)
  },
  'runs no more items in all than it is told, and tells when nothing runs and nothing can': async (trial) => {
    await trial.put(...Array.from({ length: 5 }, () => makeItem()))
    let [running, runs] = [0, 0]
    const told: { readonly running: number; readonly runs: number }[] = []
    const work = async () => {
      running++
      await sleep(100)
      running--
      runs++
      return DONE
    }
    const loop = trial.work(work, { max: 3, onIdle: () => told.push({ running, runs }) })
    await trial.until('it told', () => told.some((each) => each.runs >= 3))
    await loop.close(10_000)
    deepStrictEqual([runs, told.filter((each) => each.running > 0)], [3, []])
    strictEqual((await trial.inbox.counts()).waiting, 2)
  },
  'gives an item to one of several workers': async (trial) => {
    const items = Array.from({ length: 60 }, () => makeItem())
    const work = () => sleep(5, DONE)
    trial.work(work)
    trial.work(work)
    trial.work(work, { inbox: trial.another })
    await trial.put(...items)
    await trial.until(
      'all are gone',
      async () => (await trial.inbox.counts()).waiting === 0 && trial.taken.length >= 60,
    )
    await sleep(100)
    deepStrictEqual([...trial.keysTaken].sort(), items.map(({ key }) => key).sort())
  },
  'tries again when it is told to, and not before': async (trial) => {
    const item = makeItem()
    const startedAt: number[] = []
    trial.work((taken) => {
      startedAt.push(performance.now())
      return startedAt.length === 3 ? DONE : fail(taken, 300)
    })
    await trial.put(item)
    await trial.until('it ran three times', () => startedAt.length === 3)
    const [first = 0, second = 0, third = 0] = startedAt
    ok(second - first >= 290, `the second try came after ${second - first} ms`)
    ok(third - second >= 290, `the third try came after ${third - second} ms`)
  },
  'counts the tries that count, and keeps each': async (trial) => {
    const item = makeItem()
    const seen = trial.taken
    const tries: InboxTry[] = []
    const wait = (isFailure: boolean, tried?: InboxTry): Settlement => {
      if (tried !== undefined) tries.push(tried)
      return { next: 'wait', afterMs: 0, isFailure, ...(tried && { tried }) }
    }
    trial.work((taken) => {
      if (seen.length === 5) return DONE
      if (seen.length === 2) return wait(false, makeTry(taken, 'busy'))
      return seen.length === 3 ? wait(false) : wait(true, makeTry(taken)) // the third try did not begin
    })
    await trial.put(item)
    await trial.until('it ran five times', () => seen.length === 5)
    const failures = seen.map((taken) => taken.failures)
    deepStrictEqual(failures, [0, 1, 1, 1, 2])
    const written = tries.map(({ n, code }) => `${n} ${code}`)
    deepStrictEqual(written, ['1 handler_failed', '2 busy', '3 handler_failed'])
    deepStrictEqual(seen.at(-1)?.tries, tries)
  },
  'keeps the last 20 tries': async (trial) => {
    const item = makeItem()
    trial.work((taken) => (trial.taken.length === 26 ? DONE : fail(taken)))
    await trial.put(item)
    await trial.until('it ran 26 times', () => trial.taken.length === 26)
    deepStrictEqual(
      trial.taken.at(-1)?.tries.map(({ n }) => n),
      Array.from({ length: 20 }, (_, index) => index + 6),
    )
  },
  'shows what waits for its next try, and what runs': async (trial) => {
    const [late, slow] = [makeItem(), makeItem()]
    let end = () => {}
    const held = new Promise<void>((resolve) => {
      end = resolve
    })
    trial.work(async (taken) => {
      if (taken.key === late.key) return fail(taken, LONG_DELAY_MS)
      await held
      return DONE
    })
    try {
      await trial.put(late, slow)
      await trial.until('one waits and one runs', async () => {
        const { waiting, running } = await trial.another.counts()
        return waiting === 1 && running === 1 && (await trial.get(late.key)).tries.length === 1
      })
      strictEqual((await trial.another.counts()).oldestDueAt, undefined)
      const entry = await trial.get(late.key)
      strictEqual(entry.state, 'waiting')
      ok(entry.dueAt > Date.now() + LONG_DELAY_MS / 2, `due at ${entry.dueAt}`)
      strictEqual((await trial.get(slow.key)).state, 'running')
      const keysOf = async (state: InboxState) => (await trial.another.list(state)).entries.map(({ key }) => key)
      deepStrictEqual([await keysOf('waiting'), await keysOf('running')], [[late.key], [slow.key]])
      strictEqual(await trial.another.drop(slow.key), false)
      strictEqual(await trial.another.replay(slow.key), false)
      ok(await trial.another.drop(late.key))
    } finally {
      end() // a worker that closes waits for what runs
    }
    await trial.until('all are gone', async () => {
      const { waiting, running } = await trial.another.counts()
      return waiting + running === 0
    })
  },
  'makes an item that waits for a later try due now by a replay, with the tries that it had': async (trial) => {
    const item = makeItem()
    await trial.put(item)
    const loop = trial.work((taken) => fail(taken, LONG_DELAY_MS))
    await trial.until('it failed', async () => (await trial.get(item.key)).failures === 1)
    await loop.close(10_000)
    await trial.another.put(item) // changes nothing
    const before = await trial.get(item.key)
    ok(before.dueAt > Date.now() + LONG_DELAY_MS / 2, `due at ${before.dueAt}`)
    const answers = await Promise.all(
      [trial.inbox, trial.another, trial.inbox, trial.another].map((inbox) => inbox.replay(item.key)),
    )
    strictEqual(answers.filter((isReplayed) => isReplayed).length, 1)
    strictEqual(await trial.another.replay(item.key), false) // it is due
    const { dueAt, ...after } = await trial.get(item.key)
    deepStrictEqual({ ...after, dueAt: before.dueAt }, before)
    ok(Math.abs(Date.now() - dueAt) < LONG_DELAY_MS / 2, `due at ${dueAt}`)
    deepStrictEqual(
      (await trial.another.list('waiting')).entries.map((entry) => entry.dueAt),
      [dueAt],
    )
    trial.work((taken) => (taken.failures === 1 ? fail(taken, LONG_DELAY_MS) : DONE))
    await trial.until('it failed again', async () => (await trial.get(item.key)).failures === 2)
    ok((await trial.get(item.key)).dueAt > Date.now() + LONG_DELAY_MS / 2)
    ok(await trial.another.replay(item.key))
    await trial.untilGone(item)
    deepStrictEqual(
      trial.taken.map(({ failures, tries }) => [failures, ...tries.map(({ n }) => n)]),
      [[0], [1, 1], [2, 1, 2]],
    )
  },
  'tells once of each item that it settled': async (trial) => {
    const [done, late, dead] = [makeItem(), makeItem(), makeItem()]
    trial.work((taken) => {
      if (taken.key === done.key) return DONE
      return taken.key === late.key ? fail(taken, 60_000) : bury(taken)
    })
    await trial.put(done, late, dead)
    await trial.until('it told of each', () => trial.settled.length >= 3)
    await sleep(100)
    const told = new Map(trial.settled.map(({ key, next }) => [key, next]))
    deepStrictEqual([told.get(done.key), told.get(late.key), told.get(dead.key)], ['remove', 'wait', 'bury'])
    strictEqual(trial.settled.length, 3)
  },
  'leaves an item with its worker for longer than the lease': async (trial) => {
    const item = makeItem()
    const work = () => sleep(LONGER_THAN_LEASE_MS, DONE)
    await trial.put(item)
    trial.work(work, { leaseMs: SHORT_LEASE_MS })
    trial.work(work, { inbox: trial.another, leaseMs: SHORT_LEASE_MS })
    await trial.untilGone(item)
    strictEqual(trial.taken.length, 1, `${trial.taken.length} workers ran it`)
  },
  'takes accounts in turn: the backlog of one does not stand before the first item of another': async (trial) => {
    await trial.put(...Array.from({ length: 200 }, () => makeItem({ account: 'flood' })))
    trial.work(() => sleep(2, DONE), { concurrency: 2 })
    await trial.until('some ran', () => trial.taken.length >= 20)
    await trial.another.put(makeItem({ account: 'small' }))
    const before = trial.taken.length // the worker ran others while it was put
    const findSmall = () => trial.taken.findIndex(({ accountKey }) => accountKey === 'small')
    await trial.until('the small one ran', () => findSmall() >= 0)
    ok(findSmall() - before < 40, `it ran after ${findSmall() - before} others`)
  },
  'closes: takes nothing more, and waits for what runs': async (trial) => {
    const loop = trial.work(
      async ({ signal }) => {
        await sleep(200)
        ok(!signal.aborted, 'it was aborted before the time to close was over')
        return DONE
      },
      { concurrency: 1 },
    )
    await trial.put(makeItem(), makeItem())
    await trial.until('one runs', () => trial.taken.length === 1)
    strictEqual(await loop.close(20_000), 0)
    await sleep(100)
    strictEqual(trial.taken.length, 1)
    const { waiting, running } = await trial.inbox.counts()
    deepStrictEqual([waiting, running], [1, 0])
  },
  'aborts what outlasts the time to close, and settles it': async (trial) => {
    const item = makeItem()
    const loop = trial.work(async (taken) => {
      await new Promise<void>((resolve) => {
        taken.signal.addEventListener('abort', () => resolve())
      })
      return { next: 'wait', afterMs: 0, isFailure: false, tried: makeTry(taken, 'worker_closed') }
    })
    await trial.put(item)
    await trial.until('it runs', () => trial.taken.length === 1)
    strictEqual(await loop.close(50), 0)
    const entry = await trial.get(item.key)
    deepStrictEqual([entry.state, entry.failures, entry.tries.length], ['waiting', 0, 1])
  },
  'counts what outlasts its closing, and has it wait again': async (trial) => {
    const item = makeItem()
    let end: ((settlement: Settlement) => void) | undefined
    const loop = trial.work(
      () =>
        new Promise((resolve) => {
          end = resolve
        }),
    )
    await trial.put(item)
    await trial.until('it runs', () => end !== undefined)
    const running = await loop.close(50)
    const { state, failures, deaths, tries } = await trial.get(item.key)
    end?.(DONE)
    strictEqual(running, 1)
    deepStrictEqual([state, failures, deaths, tries], ['waiting', 0, 0, []])
  },
}
