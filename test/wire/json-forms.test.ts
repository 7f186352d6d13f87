import { expect, it } from 'vitest'
import { formatJson } from '../../tools/wire/json-forms.ts'

it('the forms differ in blanks and escapes alone', () => {
  const value = { a: 'x: y, {z} [\\"é/😀\\', b: [1, { c: null }, []], d: {} }
  expect(formatJson(value, 'compact')).toBe(JSON.stringify(value))
  expect(formatJson({ a: [1, 'b: c,'] }, 'spaced')).toBe('{"a": [1, "b: c,"]}')
  expect(formatJson({ a: [1] }, 'pretty')).toBe('{\n  "a": [\n    1\n  ]\n}\n')
  expect(formatJson({ a: 'é/😀' }, 'escaped')).toBe('{"a":"\\u00e9\\/\\ud83d\\ude00"}')
})
