import { expect, it } from 'vitest'
import { BODY_FORMATS, formatJson } from '../../tools/wire/json-forms.ts'

const value = { a: 'x: y, {z} [\\"é/😀\\', b: [1, { c: null }, []], d: {} }

it.each(BODY_FORMATS)('the form %s is JSON of the same value', (format) => {
  expect(JSON.parse(formatJson(value, format))).toEqual(value)
})

it('the forms differ in blanks and escapes alone', () => {
  expect(formatJson(value, 'compact')).toBe(JSON.stringify(value))
  expect(formatJson({ a: [1, 'b: c,'] }, 'spaced')).toBe('{"a": [1, "b: c,"]}')
  expect(formatJson({ a: [1] }, 'pretty')).toBe('{\n  "a": [\n    1\n  ]\n}\n')
  expect(formatJson({ a: 'é/😀' }, 'escaped')).toBe('{"a":"\\u00e9\\/\\ud83d\\ude00"}')
})

it('JSON at random never has the form of JSON.stringify, no matter how little there is to vary', () => {
  const written = Array.from({ length: 200 }, (_, seed) => formatJson({}, 'random', seed))
  expect(written).not.toContain('{}')
})

it('JSON at random is the same for the same seed, and differs between seeds', () => {
  expect(formatJson(value, 'random', 1)).toBe(formatJson(value, 'random', '1'))
  expect(formatJson(value, 'random')).toBe(formatJson(value, 'random'))
  expect(new Set(Array.from({ length: 50 }, (_, seed) => formatJson(value, 'random', seed))).size).toBe(50)
})

it('JSON at random has some characters escaped, and blanks of every kind', () => {
  const written = Array.from({ length: 50 }, (_, seed) => formatJson(['é/é/é/'], 'random', seed))
  expect(written.filter((text) => /\\u00e9/.test(text) && /é/.test(text)).length).toBeGreaterThan(25)
  const blanks = written.map((text) => /^\s*/.exec(text)?.[0]).join('')
  expect(new Set(blanks)).toEqual(new Set(' \t\r\n'))
})
