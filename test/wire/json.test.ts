import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toPretty } from '../../tools/wire/json.ts'

describe('JSON for reading', () => {
  it('keeps every token unchanged', () => {
    expect(toPretty('{"a":1.50e2,"a":"\\u00e9\\/","b":[ ],"c":{},"d":[1,{"e":null}]}')).toBe(
      '{\n  "a": 1.50e2,\n  "a": "\\u00e9\\/",\n  "b": [],\n  "c": {},\n  "d": [\n    1,\n    {\n      "e": null\n    }\n  ]\n}',
    )
  })

  it('is formatted like JSON.stringify, and text that is not JSON stays as it is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = JSON.stringify(value)
        expect(toPretty(json)).toBe(JSON.stringify(JSON.parse(json), null, 2))
      }),
    )
    expect(toPretty('{"a":')).toBe('{"a":')
  })

  it('that is deep has no lines of as many blanks', () => {
    const json = `${'['.repeat(16_000)}1${']'.repeat(16_000)}`
    const pretty = toPretty(json)
    expect(pretty.length).toBeLessThan(3_000_000)
    expect(pretty.replace(/\s/g, '')).toBe(json)
  })

  it('may have a string of 8 MB of escapes', () => {
    const json = `["${'\\n'.repeat(4_000_000)}"]`
    expect(toPretty(json) === `[\n  ${json.slice(1, -1)}\n]`).toBe(true)
  })
})
