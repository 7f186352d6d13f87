import { of, Subject } from 'rxjs'
import { expect, it } from 'vitest'
import { ignoreRejection, isThenable, refuseUnfinished } from '../../src/protocol/promises.ts'

it.each<[unknown, boolean]>([
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

it('refuseUnfinished returns any other value', () => {
  const callable = Object.defineProperty(() => {}, 'then', { value: () => {} })
  for (const result of [undefined, [], [1, 'text'], 'text', { 0: Promise.resolve() }, callable])
    expect(refuseUnfinished(result)).toBe(result)
})

it('refuseUnfinished names the function that returned a list of promises, and what to return', () => {
  expect(() => refuseUnfinished([1, Promise.resolve()])).toThrow('The handler returned a list of promises')
  expect(() => refuseUnfinished([Promise.resolve()], 'The work')).toThrow(
    'The work returned a list of promises, which nobody waits for: return Promise.all(list).',
  )
})

it('refuseUnfinished refuses an Observable, and says what to return', () => {
  expect(() => refuseUnfinished(of(1))).toThrow('The handler returned an Observable, which nobody subscribes to')
  expect(() => refuseUnfinished(new Subject())).toThrow('return lastValueFrom(it, { defaultValue: undefined })')
})

it('leaves query builders alone, which begin their query when they are awaited', () => {
  let runs = 0
  const query = Object.defineProperty({}, 'then', { value: () => runs++ })
  class Query extends Promise<void> {
    // biome-ignore lint/suspicious/noThenProperty: drivers of databases do so
    override then(): never {
      runs++
      throw new Error('begun')
    }
  }
  ignoreRejection(query)
  ignoreRejection(new Query(() => {}))
  expect(() => refuseUnfinished([query])).toThrow('a list of promises')
  expect(runs).toBe(0)
})
