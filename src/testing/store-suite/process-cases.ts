import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { BUSY, DONE, type Runs, toCases } from './trial.ts'
import { forWrongClocks, withWrongClock } from './wrong-clock.ts'

const CASES: Runs = {
  'fences off a process that was stopped for longer than its lease': async (trial) => {
    const { store, another, key } = trial
    const stalled = await trial.take()
    await trial.outlastLease()
    const { token } = await trial.take(key, another)
    strictEqual(await trial.renew(stalled.token, ['a']), false)
    strictEqual(await store.release(key, stalled.token, ['a']), false)
    strictEqual(await store.complete(key, stalled.token), false)
    deepStrictEqual(await trial.claim(), BUSY)
    ok(await another.release(key, token, ['b']))
    deepStrictEqual((await trial.take()).marks, ['b'])
  },
}

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
  ...toCases(CASES, { needs: 'sharing' }),
  // No other case has this retention: both stores have claimed nothing yet, like processes that have just started.
  ...toCases(WITH_NEW_STORES, { needs: 'sharing', retention: 4 }),
  ...toCases(WITH_WRONG_CLOCK, { needs: 'engine clock', retention: 3 }),
]
