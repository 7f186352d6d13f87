import { describe, expect, it } from 'vitest'
import { OptionChecker } from '../../src/engine.ts'

const check = new OptionChecker('myStore')

describe('an option checker', () => {
  it('accepts valid values', () => {
    check.isObject({}, '{ client }')
    check.isKnown({}, ['client'])
    check.isNumber('ratio', 0.5, 0, 1)
    check.isWhole('max', 3, 1, 3)
    check.hasMethods('clock', { now: () => 0 }, ['now'])
    check.areFunctions({ wrap: () => {}, hook: undefined })
  })

  it.each<[string, () => void, string]>([
    ['no options', () => check.isObject(undefined, '{ client }'), 'it takes one object of options: { client }.'],
    ['text for a number', () => check.isNumber('ratio', '1', 0, 1), 'ratio is "1"; give a number from 0 to 1.'],
    [
      'a number that is too small',
      () => check.isNumber('maxAge', 1, 2, 3, 'retries come late'),
      'maxAge is 1; give a number from 2 to 3, since retries come late.',
    ],
    ['infinity', () => check.isNumber('a', Infinity, 0, Infinity), 'a is Infinity; give a number from 0 to Infinity.'],
    ['a fraction', () => check.isWhole('max', 1.5, 1, 3), 'max is 1.5; give a whole number from 1 to 3.'],
    [
      'a whole number that is too small',
      () => check.isWhole('max', 0, 1, 3, 'events'),
      'max is 0; give a whole number of events from 1 to 3.',
    ],
    [
      'an object without a method',
      () => check.hasMethods('clock', { now: () => 0 }, ['now', 'monotonic']),
      'clock has no method monotonic(); it needs now, monotonic.',
    ],
    ['null for an object', () => check.hasMethods('clock', null, ['now']), 'clock has no method now(); it needs now.'],
    ['no function', () => check.areFunctions({ wrap: 5 }), 'wrap is 5; give a function.'],
  ])('refuses %s, with the fix', (_what, act, message) => {
    expect(act).toThrow(expect.objectContaining({ code: 'option_invalid', message: `myStore: ${message}` }))
  })

  it.each([
    ['secrets', 'myStore has no option "secrets". Give them as a list. It takes client, max.'],
    ['url', 'myStore has no option "url". It takes client, max.'],
  ])('refuses the unknown option %s with the known ones', (stray, message) => {
    const hint = (name: string) => (name === 'secrets' ? 'Give them as a list.' : undefined)
    const act = () => check.isKnown({ [stray]: 1 }, ['client', 'max'], hint)
    expect(act).toThrow(expect.objectContaining({ code: 'option_unknown', message }))
  })
})
