import { describe, expect, it } from 'vitest'
import { ignoreRejection, ignoreRejections, isThenable, refuseUnfinished } from '../../src/protocol/promises.ts'

it.each([
  [undefined, false],
  [null, false],
  ['then', false],
  [{}, false],
  [Object.defineProperty({}, 'then', { value: 1 }), false],
  [Promise.resolve(), true],
  [Object.defineProperty({}, 'then', { value: () => {} }), true],
  [Object.defineProperty(() => {}, 'then', { value: () => {} }), true],
  [Object.assign(() => {}, { other: 1 }), false],
])('isThenable %#', (value, is) => {
  expect(isThenable(value)).toBe(is)
})

describe('ignoreRejections', () => {
  const no = () => Promise.reject(new Error('no'))
  const evil = () => {
    throw new Error('evil')
  }
  const throwing = () => ({
    get field() {
      throw new Error('evil')
    },
    after: no(),
  })

  it.each<[string, () => unknown, number]>([
    ['a promise', no, 0],
    ['a list', () => [no(), 1, null, undefined, 'text', no()], 0],
    ['fields of objects in a list in an object', () => ({ a: [{ b: no() }, { b: 1 }] }), 0],
    ['a list of any length', () => ({ list: Array.from({ length: 3_000 }, no) }), 0],
    ['what stands behind a thousand numbers', () => [...Array.from({ length: 2_000 }, (_, at) => at), { a: no() }], 0],
    ['what stands deep', () => ({ a: [{ b: [{ c: { d: [no()] } }] }] }), 0],
    ['what stands in sets and maps', () => [new Set([no()]), new Map([['a', { b: no() }]])], 0],
    ['an object that stands within itself', () => ((circle) => Object.assign(circle, { circle }))({ a: no() }), 0],
    ['what stands behind a getter that throws', throwing, 0],
    ['a thenable, and what it holds', () => Object.assign(no(), { other: no() }), 0],
    [
      'one whose then cannot be read, and what it holds',
      () => Object.defineProperty({ other: no() }, 'then', { get: evil }),
      0,
    ],
    [
      'what stands beside a thing that cannot be looked at',
      () => [new Proxy({}, { ownKeys: evil, has: evil }), no()],
      0,
    ],
    [
      'promises of a class with a name of its own',
      () => {
        class Running extends Promise<never> {
          override readonly [Symbol.toStringTag] = 'Running'
        }
        return [new Running((_resolve, reject) => reject(new Error('no')))]
      },
      0,
    ],
    ['no promise at all', () => new Uint8Array(8), 0],
  ])('silences %s', async (_what, toValue, unhandled) => {
    const rejections: unknown[] = []
    const keep = (reason: unknown) => rejections.push(reason)
    process.on('unhandledRejection', keep)
    ignoreRejections(toValue())
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', keep)
    expect(rejections).toHaveLength(unhandled)
  })

  it('does not walk through bytes', () => {
    let reads = 0
    const bytes = Object.defineProperty(new Uint8Array(8), 'field', { enumerable: true, get: () => reads++ })
    ignoreRejections([bytes])
    expect(reads).toBe(0)
  })
})

it.each<[unknown]>([[undefined], [[]], [[1, 'text']], ['text'], [{ 0: Promise.resolve() }]])(
  'refuseUnfinished returns %j',
  (result) => expect(refuseUnfinished(result)).toBe(result),
)

it('ignoreRejection ignores a promise whose class cannot be made with a function only', () => {
  class Demanding extends Promise<void> {
    constructor(executor: (resolve: () => void) => void, must?: boolean) {
      if (must !== true) throw new Error('no')
      super(executor)
    }
  }
  expect(() => ignoreRejection(new Demanding((resolve) => resolve(), true))).not.toThrow()
})

it('refuseUnfinished names the function that returned a list of promises, and what to return', () => {
  expect(() => refuseUnfinished([1, Promise.resolve()])).toThrow('The handler returned a list of promises')
  expect(() => refuseUnfinished([Promise.resolve()], 'The work')).toThrow(
    'The work returned a list of promises, which nobody waits for: return Promise.all(list).',
  )
})

it('leaves query builders alone, which begin their query when they are awaited', () => {
  let runs = 0
  const query = Object.defineProperty({}, 'then', { value: () => runs++ })
  ignoreRejection(query)
  ignoreRejections([query, { query }])
  expect(() => refuseUnfinished([query])).toThrow('a list of promises')
  expect(runs).toBe(0)
})

it.each<[string, () => unknown]>([
  ['text', () => 'x'.repeat(100_000)],
  ['a list of numbers', () => Array(100_000).fill(1)],
  ['a list of objects', () => Array.from({ length: 100_000 }, () => ({}))],
  ['many fields', () => Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`f${at}`, at]))],
])('only reads %s and calls nothing: strangers may have sent it', (_what, toValue) => {
  const value = toValue()
  const { then } = Promise.prototype
  let calls = 0
  const count = () => {
    calls++
  }
  Reflect.set(Promise.prototype, 'then', count)
  ignoreRejections(value)
  Reflect.set(Promise.prototype, 'then', then)
  expect(calls).toBe(0)
})

it('refuseUnfinished leaves no rejection behind, no matter how many lists of promises there are', async () => {
  const rejections: unknown[] = []
  const keep = (reason: unknown) => rejections.push(reason)
  process.on('unhandledRejection', keep)
  const lists = Array.from({ length: 1_500 }, () => [Promise.reject(new Error('no'))])
  expect(() => refuseUnfinished(lists)).toThrow('return Promise.all(list)')
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', keep)
  expect(rejections).toEqual([])
})

it('refuseUnfinished does not treat an object as a generator that only calls itself one', () => {
  const named = { [Symbol.toStringTag]: 'ReportGenerator' }
  const evil = {
    get [Symbol.toStringTag]() {
      throw new Error('evil')
    },
  }
  for (const result of [named, evil]) expect(refuseUnfinished<unknown>(result)).toBe(result)
})

it('reads 1,000 parts of a value at most', () => {
  let reads = 0
  const part = () => Object.defineProperty({}, 'field', { enumerable: true, get: () => reads++ })
  ignoreRejections(Array.from({ length: 5_000 }, part))
  expect(reads).toBe(999) // the list is one of them
})
