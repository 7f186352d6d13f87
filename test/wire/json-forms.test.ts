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
