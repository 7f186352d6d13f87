import { deepStrictEqual, notStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { BUSY, DONE, type Runs, sorted, toCases } from './trial.ts'
import { forWrongClocks, withWrongClock } from './wrong-clock.ts'

const CASES: Runs = {
  'gives a key to one of many in two processes that claim it at once': async (trial) => {
    for (let round = 0; round < 20; round++) {
      const key = `${trial.key}:${round}`
      const claims = await Promise.all(
        Array.from({ length: 20 }, (_, index) => trial.claim(key, index % 2 === 0 ? trial.store : trial.another)),
      )
      strictEqual(claims.filter(({ state }) => state === 'claimed').length, 1)
    }
  },
  'shows one process what the other did': async (trial) => {
    const { store, another, key } = trial
    const first = await trial.take()
    deepStrictEqual(await trial.claim(key, another), BUSY)
    ok(await store.release(key, first.token, ['a']))
    const second = await trial.take(key, another)
    deepStrictEqual(second.marks, ['a'])
    notStrictEqual(second.token, first.token)
    deepStrictEqual(await trial.claim(), BUSY)
    ok(await another.complete(key, second.token))
    deepStrictEqual(await trial.claim(), DONE)
  },
  'knows a claim by its token, whichever process brings it': async (trial) => {
    const { token } = await trial.take()
    ok(await trial.renew(token, ['a'], trial.another))
    ok(await trial.another.release(trial.key, token, ['b']))
    const second = await trial.take()
    deepStrictEqual(sorted(second.marks), ['a', 'b'])
    ok(await trial.another.complete(trial.key, second.token))
  },
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

/** Requirements of stores in two processes that share an engine. */
export const processCases = [
  ...toCases(CASES, { needs: 'sharing' }),
  ...toCases(WITH_WRONG_CLOCK, { needs: 'engine clock', retention: 3 }),
]
