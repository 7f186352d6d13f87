import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { BUSY, DONE, STRANGER, sorted, toCases } from './trial.ts'

const ODD_NAMES = [
  ...['contact.*', '*', 'a#1/2', "o'clock", 'a,b', '{}', '[]', '"', '\\', '%s', 'a b', 'A b', 'účet 💳'],
  ...['__proto__', 'constructor', 'x'.repeat(300)],
]

export const settleCases = toCases({
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
  'gives a released key to the next claim at once, with the marks': async (trial) => {
    const { token } = await trial.take()
    ok(await trial.store.release(trial.key, token, ['a', 'b']))
    deepStrictEqual(sorted((await trial.take()).marks), ['a', 'b'])
  },
  'gathers marks over renewals and attempts, each once': async (trial) => {
    const first = await trial.take()
    ok(await trial.renew(first.token, ['a']))
    ok(await trial.store.release(trial.key, first.token, ['b']))
    const second = await trial.take()
    ok(await trial.store.release(trial.key, second.token, ['c', 'a']))
    const third = await trial.take()
    deepStrictEqual(sorted(third.marks), ['a', 'b', 'c'])
    ok(await trial.store.release(trial.key, third.token, []))
    deepStrictEqual(sorted((await trial.take()).marks), ['a', 'b', 'c'])
    await trial.outlastLease()
    deepStrictEqual(sorted((await trial.take()).marks), ['a', 'b', 'c'])
  },
  'takes any readable name as a mark, and many of them': async (trial) => {
    const many = Array.from({ length: 200 }, (_, index) => `handler-${index}`)
    const { token } = await trial.take()
    ok(await trial.renew(token, many))
    ok(await trial.store.release(trial.key, token, [...ODD_NAMES, ...many]))
    deepStrictEqual(sorted((await trial.take()).marks), sorted([...ODD_NAMES, ...many]))
  },
  'keeps marks of its own: a list that changes later changes nothing': async (trial) => {
    const [first, marks] = [await trial.take(), ['a']]
    ok(await trial.renew(first.token, marks))
    marks.push('b')
    await trial.outlastLease()
    const second = await trial.take()
    marks.push('c')
    ok(await trial.store.release(trial.key, second.token, []))
    deepStrictEqual((await trial.take()).marks, ['a'])
  },
  'keeps what further releases bring while nobody holds the key': async (trial) => {
    const { token } = await trial.take()
    for (const mark of ['a', 'b', 'c']) ok(await trial.store.release(trial.key, token, [mark]))
    deepStrictEqual(sorted((await trial.take()).marks), ['a', 'b', 'c'])
  },
  'keeps what a release brings of a key that it has forgotten, or never knew': async (trial) => {
    ok(await trial.store.release(trial.key, STRANGER, ['a']))
    deepStrictEqual((await trial.take()).marks, ['a'])
  },
  'keeps what renewals and releases bring at the same time, in two processes': async (trial) => {
    const { store, another, key } = trial
    const { token } = await trial.take()
    const marks = Array.from({ length: 10 }, (_, index) => `handler ${index}`)
    const answers = marks.map((mark, index) =>
      index % 2 === 0 ? trial.renew(token, [mark], another) : store.release(key, token, [mark]),
    )
    ok((await Promise.all(answers)).every((isKept) => isKept))
    await trial.outlastLease()
    deepStrictEqual(sorted((await trial.take()).marks), marks)
  },
  'keeps earlier marks beside those of a renewal that nobody else held the key for': async (trial) => {
    const { token } = await trial.take()
    ok(await trial.store.release(trial.key, token, ['a']))
    ok(await trial.renew(token, ['b']))
    await trial.outlastLease()
    deepStrictEqual(sorted((await trial.take()).marks), ['a', 'b'])
  },
  'does not release the claim of another, nor keep its marks': async (trial) => {
    const first = await trial.take()
    await trial.outlastLease()
    const second = await trial.take()
    strictEqual(await trial.store.release(trial.key, first.token, ['a']), false)
    strictEqual(await trial.store.release(trial.key, first.token, ['a']), false)
    deepStrictEqual(await trial.claim(), BUSY)
    ok(await trial.store.release(trial.key, second.token, []))
    deepStrictEqual((await trial.take()).marks, [])
  },
  'does not undo what is done by a late release': async (trial) => {
    const first = await trial.take()
    await trial.outlastLease()
    const second = await trial.take()
    ok(await trial.store.complete(trial.key, second.token))
    ok(await trial.store.release(trial.key, first.token, ['a']))
    ok(await trial.store.release(trial.key, second.token, ['a']))
    deepStrictEqual(await trial.claim(), DONE)
  },
  'returns what a completion was given with done, or nothing': async (trial) => {
    const by = ['p1', ...ODD_NAMES.slice(0, 3)]
    const { token } = await trial.take()
    ok(await trial.store.complete(trial.key, token, undefined, by))
    const claim = await trial.claim(trial.key, trial.another)
    if ('by' in claim) deepStrictEqual(claim, { ...DONE, by })
    else deepStrictEqual(claim, DONE)
    ok(await trial.store.release(trial.key, token, ['late']))
    deepStrictEqual(await trial.claim(), claim)
  },
  'forgets what is done and its marks, if it can, and never a claim that lives': async (trial) => {
    const { store, another, key } = trial
    if (store.forget === undefined || another.forget === undefined) return
    strictEqual(await store.forget(key), false)
    const first = await trial.take()
    strictEqual(await another.forget(key), false)
    deepStrictEqual(await trial.claim(), BUSY)
    ok(await store.release(key, first.token, ['a']))
    strictEqual(await another.forget(key), true)
    strictEqual(await store.forget(key), false)
    const second = await trial.take()
    deepStrictEqual(second.marks, [])
    ok(await trial.renew(second.token, ['b']))
    strictEqual(await store.forget(key), false)
    ok(await store.complete(key, second.token, undefined, ['p1', 'b']))
    strictEqual(await another.forget(key), true)
    deepStrictEqual((await trial.take()).marks, [])
  },
})
