import { expect, it } from 'vitest'
import { isThenable } from '../../src/protocol/is-thenable.ts'

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
