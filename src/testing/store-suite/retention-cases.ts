import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { BUSY, type CaseDefinition, DONE } from './trial.ts'

export const retentionCases: readonly CaseDefinition[] = [
  {
    name: 'tells how long it remembers',
    retention: 20_000,
    async run({ store, leaseMs }) {
      strictEqual(store.retentionMs, 20_000 * leaseMs)
    },
  },
  {
    name: 'forgets what is done after the retention, and not before',
    retention: 3,
    async run(trial) {
      const { token } = await trial.take()
      ok(await trial.store.complete(trial.key, token))
      await trial.pass(2)
      deepStrictEqual(await trial.claim(), DONE)
      await trial.pass(2)
      deepStrictEqual((await trial.take()).marks, [])
    },
  },
  {
    name: 'remembers what is done for the retention from its end, however long it took',
    retention: 3,
    async run(trial) {
      const { token } = await trial.take()
      ok(await trial.store.renew(trial.key, token, trial.leaseMs * 3, []))
      await trial.pass(2)
      ok(await trial.store.complete(trial.key, token))
      await trial.pass(2)
      deepStrictEqual(await trial.claim(), DONE)
    },
  },
  {
    name: 'keeps a mark for the retention from when it came, beside older ones',
    retention: 3,
    async run(trial) {
      const first = await trial.take()
      ok(await trial.store.release(trial.key, first.token, ['a']))
      await trial.pass(2)
      const second = await trial.take()
      ok(await trial.store.release(trial.key, second.token, ['b']))
      await trial.pass(2)
      const { marks } = await trial.take()
      ok(marks.includes('b'), `it has ${JSON.stringify(marks)}`)
    },
  },
  {
    name: 'remembers for months if it is told to',
    retention: 5_000_000, // more milliseconds than 32 bits hold, and than a timer of Node waits
    async run(trial) {
      const [done, released] = [await trial.take(), await trial.take(`${trial.key}:released`)]
      ok(await trial.store.complete(trial.key, done.token))
      ok(await trial.store.release(`${trial.key}:released`, released.token, ['a']))
      await trial.pass(1)
      deepStrictEqual(await trial.claim(), DONE)
      deepStrictEqual((await trial.take(`${trial.key}:released`)).marks, ['a'])
    },
  },
  {
    name: 'forgets marks after the retention, and not before',
    retention: 3,
    async run(trial) {
      const first = await trial.take()
      ok(await trial.store.release(trial.key, first.token, ['a']))
      await trial.pass(2)
      const second = await trial.take()
      deepStrictEqual(second.marks, ['a'])
      ok(await trial.store.release(trial.key, second.token, []))
      await trial.pass(4)
      deepStrictEqual((await trial.take()).marks, [])
    },
  },
  {
    name: 'keeps marks that came with a renewal for the retention, though the claim has long ended',
    retention: 4,
    async run(trial) {
      const { token } = await trial.take()
      ok(await trial.renew(token, ['a']))
      await trial.pass(3)
      deepStrictEqual((await trial.take()).marks, ['a'])
    },
  },
  {
    name: 'keeps a claim alive that is renewed for longer than the retention',
    retention: 2,
    async run(trial) {
      const { token } = await trial.take()
      ok(await trial.store.renew(trial.key, token, trial.leaseMs * 6, []))
      await trial.pass(4)
      deepStrictEqual(await trial.claim(), BUSY)
      ok(await trial.store.complete(trial.key, token))
    },
  },
]
