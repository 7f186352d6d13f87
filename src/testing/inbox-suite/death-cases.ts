import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Settlement, TakenItem } from '../../inbox/inbox.ts'
import { DONE, fail, makeItem, makeTry, type Runs, SHORT_LEASE_MS, type Trial } from './trial.ts'

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
    const running = new Map<string, TakenItem>()
    const work = async (taken: TakenItem) => {
      running.set(taken.key, taken)
      await trial.until('both run', () => running.size === 2)
      return DONE
    }
    trial.work(work, { leaseMs: SHORT_LEASE_MS }) // it renews its own lease, while that of the other worker ends
    await trial.until('both are done', async () => (await trial.inbox.counts()).running === 0 && running.size === 2)
    for (const { isSuspect, deaths } of running.values()) deepStrictEqual([isSuspect === true, deaths], [false, 0])
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
    const seen: TakenItem[] = []
    trial.work((taken): Settlement => {
      seen.push(taken)
      if (seen.length === 1)
        return { next: 'wait', afterMs: 0, isFailure: false, tried: makeTry(taken, 'busy'), isUnproven: true }
      return seen.length === 2 ? fail(taken) : DONE
    })
    await trial.until('it ran three times', () => seen.length === 3)
    deepStrictEqual(
      seen.map(({ deaths, isSuspect }) => [deaths, isSuspect === true]),
      [
        [1, true],
        [1, true],
        [0, false],
      ],
    )
  },
  'leaves an item with a worker that was suspended if no other worker took it': async (trial) => {
    const item = makeItem()
    await trial.put(item)
    const { resume, loop } = await trial.dieAt(item.key)
    await sleep(2 * SHORT_LEASE_MS)
    resume(DONE)
    await trial.until('it is gone', async () => (await trial.inbox.get(item.key)) === undefined)
    await loop.close(10_000) // it learns of the answer later
    deepStrictEqual(trial.settled, [{ key: item.key, next: 'remove' }])
  },
  'counts no death of a worker that was suspended, and does not let it settle what another one took': async (trial) => {
    const item = makeItem()
    await trial.put(item)
    const first = await trial.dieAt(item.key)
    await trial.dieAt(item.key)
    first.resume(DONE)
    await first.loop.close(10_000)
    const entry = await trial.get(item.key)
    deepStrictEqual([entry.state, trial.settled, trial.stalled], ['running', [], [item.key]])
    let again: TakenItem | undefined
    trial.work((taken) => {
      again = taken
      return DONE
    })
    await trial.until('it ran again', () => again !== undefined)
    deepStrictEqual([again?.isSuspect === true, again?.deaths], [false, 0])
  },
}
