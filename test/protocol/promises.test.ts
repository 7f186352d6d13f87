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

it('refuseUnfinished says who returned a list of promises, and what to return', () => {
  expect(() => refuseUnfinished([1, Promise.resolve()])).toThrow('The handler returned a list of promises')
  expect(() => refuseUnfinished([Promise.resolve()], 'The work')).toThrow(
    'The work returned a list of promises, which nobody waits for: return Promise.all(list).',
  )
})

it('leaves query builders alone, which begin their query when they are waited for', () => {
  let runs = 0
  const query = Object.defineProperty({}, 'then', { value: () => runs++ })
  ignoreRejection(query)
  ignoreRejections([query, { query }])
  expect(() => refuseUnfinished([query])).toThrow('a list of promises')
  expect(runs).toBe(0)
})

it('looks at 1,000 parts of a value at most', () => {
  let reads = 0
  const part = () => Object.defineProperty({}, 'field', { enumerable: true, get: () => reads++ })
  ignoreRejections(Array.from({ length: 5_000 }, part))
  expect(reads).toBe(999) // the list is one of them
})
