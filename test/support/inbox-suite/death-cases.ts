import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Settlement } from '../../../src/inbox/inbox.ts'
import { bury, DONE, fail, makeItem, makeTry, type Runs, SHORT_LEASE_MS, type Trial } from './trial.ts'

/** Two workers die at the item, so that it is a suspect. */
async function suspect(trial: Trial, key: string, ranMs = 0): Promise<void> {
  for (let death = 0; death < 2; death++) await trial.dieAt(key, ranMs)
}

export const deathCases: Runs = {
  'runs items beside each other whose worker died once': async (trial) => {
    const [item, other] = [makeItem(), makeItem()]
    await trial.put(item)
    await trial.dieAt(item.key)
    await trial.put(other)
    const work = async () => {
      await trial.until('both run', () => trial.taken.length === 2)
      return DONE
    }
    trial.work(work, { leaseMs: SHORT_LEASE_MS }) // it renews its own lease, while that of the other worker ends
    await trial.untilGone(item)
    await trial.untilGone(other)
    for (const { isSuspect, deaths } of trial.taken) deepStrictEqual([isSuspect === true, deaths], [false, 0])
  },
  'runs an item alone at which two workers died, until it has run for longer than before': async (trial) => {
    const [item, other] = [makeItem(), makeItem()]
    const ranMs = 700
    await trial.put(item)
    await suspect(trial, item.key, ranMs)
    const began: string[] = []
    let aloneMs = 0
    trial.work(
      async ({ key, isSuspect }) => {
        began.push(key)
        if (key === other.key) return DONE
        strictEqual(isSuspect, true)
        const beganAt = performance.now()
        await trial.put(other)
        await trial.until('the other one runs beside it', () => began.includes(other.key))
        aloneMs = performance.now() - beganAt
        return DONE
      },
      { leaseMs: SHORT_LEASE_MS },
    )
    await trial.until(
      'both are gone',
      async () => (await trial.inbox.get(item.key)) === undefined && began.length === 2,
    )
    deepStrictEqual(began, [item.key, other.key])
    ok(aloneMs >= ranMs, `another one began after ${aloneMs} ms`)
  },
  'counts the deaths of workers that ran an item alone, until its handlers run to their end': async (trial) => {
    const item = makeItem()
    await trial.put(item)
    await suspect(trial, item.key)
    strictEqual((await trial.get(item.key)).deaths, 0)
    await trial.dieAt(item.key)
    trial.work((taken): Settlement => {
      if (trial.taken.length === 1)
        return { next: 'wait', afterMs: 0, isFailure: false, tried: makeTry(taken, 'busy'), isUnproven: true }
      return trial.taken.length === 2 ? fail(taken) : DONE
    })
    await trial.until('it ran three times', () => trial.taken.length === 3)
    const seen = trial.taken.map(({ deaths, isSuspect }) => `${deaths} ${isSuspect === true}`)
    deepStrictEqual(seen, ['1 true', '1 true', '0 false'])
  },
  'leaves an item with a worker that was suspended if no other worker took it': async (trial) => {
    const item = makeItem()
    await trial.put(item)
    const { resume, loop } = await trial.dieAt(item.key)
    await sleep(2 * SHORT_LEASE_MS)
    resume(() => DONE)
    await trial.untilGone(item)
    await loop.close(10_000) // it learns of the answer later
    deepStrictEqual(trial.settled, [{ key: item.key, next: 'remove' }])
  },
  'counts no death of a worker that was suspended, and does not let it settle what another one took': async (trial) => {
    for (const settle of [() => DONE, fail, bury]) {
      const item = makeItem()
      await trial.put(item)
      const first = await trial.dieAt(item.key)
      await trial.dieAt(item.key)
      first.resume(settle)
      await first.loop.close(10_000)
      const entry = await trial.get(item.key)
      deepStrictEqual([entry.state, trial.settled, trial.stalled.pop()], ['running', [], item.key])
      const next = trial.work(() => DONE)
      await trial.untilGone(item)
      await next.close(10_000)
      const again = trial.taken.at(-1)
      deepStrictEqual([again?.key, again?.isSuspect === true, again?.deaths], [item.key, false, 0])
      trial.settled.pop()
    }
  },
}
