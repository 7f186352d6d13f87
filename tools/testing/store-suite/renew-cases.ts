import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { BUSY, DONE, STRANGER, sorted, toCases } from './trial.ts'

export const renewCases = toCases({
  'renews a claim from now on': async (trial) => {
    const { token } = await trial.take()
    for (let turn = 0; turn < 3; turn++) {
      await trial.pass(1 / 2)
      ok(await trial.renew(token))
    }
    await trial.pass(1 / 2)
    deepStrictEqual(await trial.claim(), BUSY)
    await trial.outlastLease()
    await trial.take()
  },
  'renews for as long as it is told, which may be shorter than before': async (trial) => {
    const { token } = await trial.take()
    ok(await trial.store.renew(trial.key, token, trial.leaseMs * 4, []))
    await trial.pass(2)
    deepStrictEqual(await trial.claim(), BUSY)
    ok(await trial.renew(token))
    await trial.outlastLease()
    await trial.take()
  },
  'keeps the marks that came with a renewal, also when the claim then ends by itself': async (trial) => {
    const { token } = await trial.take()
    ok(await trial.renew(token, ['a', 'b']))
    ok(await trial.renew(token, ['c', 'b']))
    ok(await trial.renew(token, []))
    await trial.outlastLease()
    deepStrictEqual(sorted((await trial.take()).marks), ['a', 'b', 'c'])
  },
  'renews a key that it has forgotten, or never knew': async (trial) => {
    ok(await trial.renew(STRANGER, ['a']))
    deepStrictEqual(await trial.claim(), BUSY)
    await trial.outlastLease()
    deepStrictEqual((await trial.take()).marks, ['a'])
  },
  'does not renew the claim of another, nor keep what came with it': async (trial) => {
    const { token } = await trial.take()
    await trial.outlastLease()
    const second = await trial.take()
    strictEqual(await trial.renew(token, ['a']), false)
    strictEqual(await trial.renew(STRANGER, ['b']), false)
    ok(await trial.store.release(trial.key, second.token, []))
    deepStrictEqual((await trial.take()).marks, [])
  },
  'does not lengthen the claim of another': async (trial) => {
    await trial.take()
    strictEqual(await trial.store.renew(trial.key, STRANGER, trial.leaseMs * 100, []), false)
    await trial.outlastLease()
    await trial.take()
  },
  'does not renew what is done': async (trial) => {
    const first = await trial.take()
    await trial.outlastLease()
    const second = await trial.take()
    ok(await trial.store.complete(trial.key, second.token))
    strictEqual(await trial.renew(first.token), false)
    strictEqual(await trial.renew(second.token), false)
    deepStrictEqual(await trial.claim(), DONE)
  },
})
