import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { BUSY, DONE, type Runs, toCases } from './trial.ts'

/** A retention, in leases: more milliseconds than 32 bits hold, and than a timer of Node waits. */
const MONTHS = 5_000_000

const FOR_MONTHS: Runs = {
  'tells how long it remembers': async ({ store, leaseMs }) => {
    strictEqual(store.retentionMs, MONTHS * leaseMs)
  },
  'remembers for months if it is told to': async (trial) => {
    const [done, released] = [await trial.take(), await trial.take(`${trial.key}:released`)]
    ok(await trial.store.complete(trial.key, done.token))
    ok(await trial.store.release(`${trial.key}:released`, released.token, ['a']))
    await trial.pass(1)
    deepStrictEqual(await trial.claim(), DONE)
    deepStrictEqual((await trial.take(`${trial.key}:released`)).marks, ['a'])
  },
}

const FOR_THREE_LEASES: Runs = {
  'forgets what is done after the retention, and not before': async (trial) => {
    const { token } = await trial.take()
    ok(await trial.store.complete(trial.key, token))
    await trial.pass(2)
    deepStrictEqual(await trial.claim(), DONE)
    await trial.pass(2)
    deepStrictEqual((await trial.take()).marks, [])
  },
  'remembers what is done for the retention from its end, however long it took': async (trial) => {
    const { token } = await trial.take()
    ok(await trial.store.renew(trial.key, token, trial.leaseMs * 3, []))
    await trial.pass(2)
    ok(await trial.store.complete(trial.key, token))
    await trial.pass(2)
    deepStrictEqual(await trial.claim(), DONE)
  },
  'keeps a mark for the retention from when it came, beside older ones': async (trial) => {
    const first = await trial.take()
    ok(await trial.store.release(trial.key, first.token, ['a']))
    await trial.pass(2)
    const second = await trial.take()
    ok(await trial.store.release(trial.key, second.token, ['b']))
    await trial.pass(2)
    const { marks } = await trial.take()
    ok(marks.includes('b'), `it has ${JSON.stringify(marks)}`)
  },
  'forgets marks after the retention, and not before': async (trial) => {
    const first = await trial.take()
    ok(await trial.store.release(trial.key, first.token, ['a']))
    await trial.pass(2)
    const second = await trial.take()
    deepStrictEqual(second.marks, ['a'])
    ok(await trial.store.release(trial.key, second.token, []))
    await trial.pass(4)
    deepStrictEqual((await trial.take()).marks, [])
  },
  'keeps marks that came with a renewal for the retention, though the claim has long ended': async (trial) => {
    const { token } = await trial.take()
    ok(await trial.renew(token, ['a']))
    await trial.pass(2)
    deepStrictEqual((await trial.take()).marks, ['a'])
  },
  'keeps a claim alive that is renewed for longer than the retention': async (trial) => {
    const { token } = await trial.take()
    ok(await trial.store.renew(trial.key, token, trial.leaseMs * 6, []))
    await trial.pass(4)
    deepStrictEqual(await trial.claim(), BUSY)
    ok(await trial.store.complete(trial.key, token))
  },
}

export const retentionCases = [
  ...toCases(FOR_MONTHS, { retention: MONTHS }),
  ...toCases(FOR_THREE_LEASES, { retention: 3 }),
]
