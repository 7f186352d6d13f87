import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { BUSY, DONE, STRANGER, toCases } from './trial.ts'

export const completeCases = toCases({
  'answers done after complete, for as long as it lives': async (trial) => {
    const { token } = await trial.take()
    ok(await trial.store.complete(trial.key, token))
    deepStrictEqual(await trial.claim(), DONE)
    await trial.outlastLease()
    deepStrictEqual(await trial.claim(), DONE)
  },
  'does not complete the claim of another, which goes on': async (trial) => {
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
  'completes a claim though another one came and ended since': async (trial) => {
    const first = await trial.take()
    await trial.outlastLease()
    await trial.take()
    await trial.outlastLease()
    ok(await trial.store.complete(trial.key, first.token))
    deepStrictEqual(await trial.claim(), DONE)
  },
  'completes a key that it has forgotten, or never knew': async (trial) => {
    ok(await trial.store.complete(trial.key, STRANGER))
    deepStrictEqual(await trial.claim(), DONE)
  },
  'completes what was released, and what another has completed': async (trial) => {
    const first = await trial.take()
    ok(await trial.store.release(trial.key, first.token, []))
    ok(await trial.store.complete(trial.key, first.token))
    ok(await trial.store.complete(trial.key, STRANGER))
    deepStrictEqual(await trial.claim(), DONE)
  },
})
