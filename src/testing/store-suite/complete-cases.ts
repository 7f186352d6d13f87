import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { BUSY, type CaseDefinition, DONE, STRANGER } from './trial.ts'

export const completeCases: readonly CaseDefinition[] = [
  {
    name: 'answers done after complete, for as long as it lives',
    async run(trial) {
      const { token } = await trial.take()
      ok(await trial.store.complete(trial.key, token))
      deepStrictEqual(await trial.claim(), DONE)
      await trial.outlastLease()
      deepStrictEqual(await trial.claim(), DONE)
    },
  },
  {
    name: 'answers a repeated complete as the first one',
    async run(trial) {
      const { token } = await trial.take()
      for (let turn = 0; turn < 3; turn++) ok(await trial.store.complete(trial.key, token))
      deepStrictEqual(await trial.claim(), DONE)
    },
  },
  {
    name: 'does not complete the claim of another, which goes on',
    async run(trial) {
      const first = await trial.take()
      await trial.outlastLease()
      const second = await trial.take()
      strictEqual(await trial.store.complete(trial.key, first.token), false)
      strictEqual(await trial.store.complete(trial.key, first.token), false)
      deepStrictEqual(await trial.claim(), BUSY)
      ok(await trial.renew(second.token))
      ok(await trial.store.complete(trial.key, second.token))
      deepStrictEqual(await trial.claim(), DONE)
    },
  },
  {
    name: 'completes a claim that has ended while nobody took the key',
    async run(trial) {
      const { token } = await trial.take()
      await trial.outlastLease()
      ok(await trial.store.complete(trial.key, token))
      deepStrictEqual(await trial.claim(), DONE)
    },
  },
  {
    name: 'completes a claim though another one came and ended since',
    async run(trial) {
      const first = await trial.take()
      await trial.outlastLease()
      await trial.take()
      await trial.outlastLease()
      ok(await trial.store.complete(trial.key, first.token))
      deepStrictEqual(await trial.claim(), DONE)
    },
  },
  {
    name: 'completes a key that it has forgotten, or never knew',
    async run(trial) {
      ok(await trial.store.complete(trial.key, STRANGER))
      deepStrictEqual(await trial.claim(), DONE)
    },
  },
  {
    name: 'completes what was released, and what another has completed',
    async run(trial) {
      const first = await trial.take()
      ok(await trial.store.release(trial.key, first.token, []))
      ok(await trial.store.complete(trial.key, first.token))
      ok(await trial.store.complete(trial.key, STRANGER))
      deepStrictEqual(await trial.claim(), DONE)
    },
  },
]
