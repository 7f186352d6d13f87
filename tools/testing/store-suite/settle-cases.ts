import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { BUSY, DONE, STRANGER, sorted, toCases } from './trial.ts'

const ODD_NAMES = [
  ...['contact.*', '*', 'a#1/2', "o'clock", 'a,b', '{}', '[]', '"', '\\', '%s', 'a b', 'A b', 'účet 💳'],
  ...['__proto__', 'constructor', 'x'.repeat(300)],
]

export const settleCases = toCases({
  'takes renewals, completions and releases of a key that it has forgotten, or never knew': async (trial) => {
    const { store, key } = trial
    ok(await trial.renew(STRANGER, ['a']))
    ok(await store.complete(`${key}:done`, STRANGER))
    ok(await store.release(`${key}:released`, STRANGER, ['b']))
    deepStrictEqual(await trial.claim(), BUSY)
    deepStrictEqual(await trial.claim(`${key}:done`), DONE)
    deepStrictEqual((await trial.take(`${key}:released`)).marks, ['b'])
    await trial.outlastLease()
    deepStrictEqual((await trial.take()).marks, ['a'])
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
