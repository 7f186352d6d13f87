import { DeadLetter, RetryLater } from 'postern'
import { describe, expect, it } from 'vitest'
import { steeringOf } from '../../src/inbox/steer.ts'

const named = (name: string, fields = {}) => Object.assign(new Error('x'), { name }, fields)

it.each([
  ['several dead letters', [new DeadLetter('no'), new DeadLetter('no')], 'bury'],
  ['no delay at all', [new RetryLater(0)], { afterMs: 0 }],
  ['the longest of several delays', [new RetryLater(5), new RetryLater(9), new RetryLater(7)], { afterMs: 9 }],
  ['a delay beside a dead letter', [new DeadLetter('no'), new RetryLater(5)], { afterMs: 5 }],
  ['errors of another copy of the package', [named('DeadLetter'), named('RetryLater', { delayMs: 5 })], { afterMs: 5 }],
])('steeringOf returns %s', (_, errors, steering) => {
  expect(steeringOf(errors)).toEqual(steering)
})

describe('a delay', () => {
  it.each([0, 0.5, 1_000, Number.MAX_VALUE])('can be %d ms', (delayMs) => {
    expect(new RetryLater(delayMs)).toMatchObject({ delayMs, message: `again in ${delayMs} ms`, name: 'RetryLater' })
  })

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, '5', null, undefined, 5n])('cannot be %s', (delayMs) => {
    const refusal = {
      code: 'option_invalid',
      message: expect.stringMatching(/^RetryLater was given .*it takes milliseconds/),
    }
    expect(() => new RetryLater(delayMs as never)).toThrow(expect.objectContaining(refusal))
  })
})
