import { describe, expect, it } from 'vitest'
import { quote, reasonOf, show } from '../../src/protocol/show.ts'

describe('show', () => {
  it.each<[unknown, string]>([
    ['a "b"', '"a \\"b\\""'],
    [() => {}, 'a function'],
    [class {}, 'a function'],
    [[1], 'a list'],
    [[], 'an empty list'],
    [{}, 'an object'],
    [new Set(), 'an object (Set)'],
    [new Headers(), 'an object (Headers)'],
    [new URL('localhost:3'), '"localhost:3"'],
    [Promise.resolve(), 'a promise'],
    [null, 'null'],
    [undefined, 'undefined'],
    [7n, '7n'],
    [Symbol('s'), 'Symbol(s)'],
  ])('%o is %s', (value, text) => expect(show(value)).toBe(text))
})

describe('quote', () => {
  it('leaves letters of every alphabet alone', () => expect(quote("añ漢 😀/'<")).toBe('"añ漢 😀/\'<"'))

  it.each([
    ['a quotation mark', '"', '\\u0022'],
    ['a backslash', '\\', '\\u005c'],
    ['an escape', '\u001b', '\\u001b'],
    ['a line break', '\n', '\\u000a'],
    ['a right-to-left override', '\u202e', '\\u202e'],
    ['a lone surrogate', '\ud800', '\\ud800'],
    ['a line separator', '\u2028', '\\u2028'],
    ['a paragraph separator', '\u2029', '\\u2029'],
  ])('escapes %s', (_what, character, escaped) => expect(quote(`a${character}b`)).toBe(`"a${escaped}b"`))
})

describe('reasonOf', () => {
  const noError = 'it threw something that is not an error'
  it.each<[string, unknown, string]>([
    ['an error', new TypeError('gone'), 'gone'],
    ['what only looks like an error', { message: 'gone' }, noError],
    ['undefined', undefined, noError],
    ['text', 'gone', noError],
  ])('of %s', (_what, thrown, reason) => expect(reasonOf(thrown)).toBe(reason))
})
