import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { copyPlain } from '../../src/protocol/copy-plain.ts'

describe('copyPlain', () => {
  it('copies everything that JSON can express, and shares nothing with it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const original = { value }
        const copy = copyPlain(original)
        expect(copy).toStrictEqual(original)
        expect(copy).not.toBe(original)
        if (typeof value === 'object' && value !== null) expect(copy.value).not.toBe(value)
      }),
    )
  })

  it('copies a list that is nested 200,000 deep', () => {
    const deep = JSON.parse('['.repeat(200_000) + ']'.repeat(200_000))
    let [copy, depth] = [copyPlain(deep), 0]
    for (; Array.isArray(copy); copy = copy[0]) depth++
    expect(depth).toBe(200_000)
  })

  it('keeps an own field of the name __proto__ a field', () => {
    const copy = copyPlain(JSON.parse('{"__proto__":{"isAdmin":true},"constructor":{"a":[1]}}'))
    expect(Object.keys(copy)).toEqual(['__proto__', 'constructor'])
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"isAdmin":true},"constructor":{"a":[1]}}')
  })

  it('copies objects without a prototype, such as parsers of queries make', () => {
    const bare = Object.assign(Object.create(null), { a: [1] }) as { a: number[] }
    const copy = copyPlain({ bare })
    expect(copy.bare).toEqual({ a: [1] })
    expect(copy.bare).not.toBe(bare)
    expect(copy.bare.a).not.toBe(bare.a)
  })

  it('copies an object once that occurs in several places, or within itself', () => {
    const shared = { a: 1 }
    const original: Record<string, unknown> = { first: shared, second: shared }
    original.self = original
    const copy = copyPlain(original)
    expect(copy.first).toBe(copy.second)
    expect(copy.first).not.toBe(shared)
    expect(copy.self).toBe(copy)
  })
})
