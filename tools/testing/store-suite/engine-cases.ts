import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { BUSY, DONE, type Runs, type Trial, toCases } from './trial.ts'
import { forWrongClocks, withWrongClock } from './wrong-clock.ts'

/** Duration of the outage, in milliseconds: longer than a call that is answered immediately. */
const AWAY_MS = 500
/** Time for a store to reconnect to its engine, in milliseconds. */
const BACK_WITHIN_MS = 20_000

const AWAY: Runs = {
  'answers nothing of its own while the engine is away, and is back by itself': async (trial) => {
    const { store, key } = trial
    const [held, done] = [`${key}:held`, `${key}:done`]
    const { token } = await trial.take(held)
    ok(await store.complete(done, (await trial.take(done)).token))
    const answers: unknown[] = []
    const note = (answer: unknown) => answers.push(answer)
    await away(trial, async () => {
      const calls: readonly (() => unknown)[] = [
        () => store.claim(key, trial.leaseMs),
        () => store.claim(done, trial.leaseMs),
        () => store.renew(held, token, trial.leaseMs, ['a']),
        () => store.complete(held, token),
        () => store.release(held, token, []),
      ]
      for (const call of calls) attempt(call).then(note, () => {})
      await sleep(AWAY_MS)
      deepStrictEqual(answers, [])
    })
    deepStrictEqual(await untilAnswered(trial, () => trial.claim(done)), DONE)
  },
  'takes "done" after the engine was away, by the token from before': async (trial) => {
    const { store, key } = trial
    const { token } = await trial.take()
    await away(trial, async () => {
      attempt(() => store.complete(key, token)).catch(() => {})
      await sleep(AWAY_MS)
    })
    strictEqual(await untilAnswered(trial, () => store.complete(key, token)), true)
    deepStrictEqual(await trial.claim(), DONE)
  },
  'still knows claims, marks and what is done after the engine was away': async (trial) => {
    const { store, key } = trial
    const [half, done] = [`${key}:half`, `${key}:done`]
    const leaseMs = 600_000
    ok(await store.release(half, (await trial.take(half)).token, ['a', 'b']))
    ok(await store.complete(done, (await trial.take(done)).token))
    const claim = await store.claim(key, leaseMs)
    await away(trial, () => sleep(AWAY_MS))
    const marked = await untilAnswered(trial, () => trial.take(half))
    deepStrictEqual([...marked.marks].sort(), ['a', 'b'])
    deepStrictEqual(await trial.claim(done), DONE)
    strictEqual((await trial.claim()).state, 'busy')
    ok(claim.state === 'claimed' && (await store.renew(key, claim.token, leaseMs, [])))
  },
  'gives back a claim that arrived late, and loses no key to one that never arrived': async (trial) => {
    const { store } = trial
    const keys = Array.from({ length: 10 }, (_, index) => `${trial.key}:${index}`)
    const released: boolean[] = []
    const claimLate = async (key: string) => {
      const claim = await store.claim(key, trial.leaseMs)
      if (claim.state === 'claimed') released.push(await store.release(key, claim.token, claim.marks))
    }
    await away(trial, async () => {
      for (const key of keys) claimLate(key).catch(() => {})
      await sleep(AWAY_MS)
    })
    await untilAnswered(trial, () => trial.claim(`${trial.key}:other`))
    await trial.outlastLease()
    ok(!released.includes(false))
    for (const key of keys) await trial.take(key)
  },
}

export const outageCases = toCases(AWAY, { needs: 'outage' })

const WITH_NEW_STORES: Runs = {
  'gives no two claims of two processes the same token': async (trial) => {
    const keys = Array.from({ length: 200 }, (_, index) => `${trial.key}:${index}`)
    const claims = keys.map((key, index) => trial.take(key, index % 2 === 0 ? trial.store : trial.another))
    const tokens = (await Promise.all(claims)).map(({ token }) => token)
    strictEqual(new Set(tokens).size, keys.length)
  },
}

const WITH_WRONG_CLOCK = forWrongClocks((direction, offMs) => ({
  [`holds and ends claims on time though the clock of one process is an hour ${direction}`]: async (trial) => {
    const { another, key } = trial
    const otherKey = `${key}:other`
    await trial.take()
    deepStrictEqual(await withWrongClock(offMs, () => trial.claim(key, another)), BUSY)
    const { token } = await withWrongClock(offMs, () => trial.take(otherKey, another))
    deepStrictEqual(await trial.claim(otherKey), BUSY)
    ok(await withWrongClock(offMs, () => another.renew(otherKey, token, trial.leaseMs, ['a'])))
    deepStrictEqual(await trial.claim(otherKey), BUSY)
    await trial.outlastLease()
    await withWrongClock(offMs, () => trial.take(key, another))
    deepStrictEqual((await trial.take(otherKey)).marks, ['a'])
  },
  [`remembers for as long as it should though the clock of one process is an hour ${direction}`]: async (trial) => {
    const { another, key } = trial
    const otherKey = `${key}:other`
    for (const each of [key, otherKey]) {
      const { token } = await trial.take(each)
      ok(await withWrongClock(offMs, () => another.complete(each, token)))
    }
    await trial.pass(2)
    deepStrictEqual(await trial.claim(), DONE)
    deepStrictEqual(await withWrongClock(offMs, () => trial.claim(key, another)), DONE)
    await trial.pass(2)
    await withWrongClock(offMs, () => trial.take(key, another))
    await trial.take(otherKey)
  },
}))

export const processCases = [
  // No other case has this retention: both stores have claimed nothing yet, like processes that have just started.
  ...toCases(WITH_NEW_STORES, { needs: 'sharing', retention: 4 }),
  ...toCases(WITH_WRONG_CLOCK, { needs: 'engine clock', retention: 3 }),
]

/** Stops the engine while `work` runs, and starts it again even if the work fails. */
async function away(trial: Trial, work: () => Promise<void>): Promise<void> {
  const { outage } = trial.host
  await trial.exempt(() => outage?.begin())
  try {
    await trial.exempt(work)
  } finally {
    await trial.exempt(() => outage?.end())
  }
}

/** Calls a store, which may throw synchronously or reject. */
const attempt = async <T>(call: () => T | PromiseLike<T>) => await call()

/** Calls until the store answers: within the limit, a store may take any time to reconnect. */
async function untilAnswered<T>(trial: Trial, call: () => T | Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + BACK_WITHIN_MS
  const answer = async (): Promise<T> => {
    for (;;) {
      try {
        return await call()
      } catch (cause) {
        if (performance.now() > giveUpAt) throw new Error('the store did not find its engine again', { cause })
        await sleep(50)
      }
    }
  }
  return await trial.exempt(answer)
}
