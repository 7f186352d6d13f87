import { runInNewContext } from 'node:vm'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { copyJson, copyPlain, copyReadable } from '../../src/protocol/copy-plain.ts'

describe.each([
  ['copyPlain', copyPlain],
  ['copyJson', copyJson],
])('%s', (_name, copyIt) => {
  it('copies everything that JSON can express, and shares nothing with it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const original = { value }
        const copy = copyIt(original)
        expect(copy).toStrictEqual(original)
        expect(copy).not.toBe(original)
        if (typeof value === 'object' && value !== null) expect(copy.value).not.toBe(value)
      }),
    )
  })

  it('copies at every depth', () => {
    const original = { list: [{ name: 'Zoë' }], nested: { deep: { deeper: [1] } } }
    const copy = copyIt(original)
    expect(copy.list[0]).not.toBe(original.list[0])
    expect(copy.nested.deep.deeper).not.toBe(original.nested.deep.deeper)
  })

  it('copies a list that is nested 200,000 deep', () => {
    const deep = JSON.parse('['.repeat(200_000) + ']'.repeat(200_000))
    let [copy, depth] = [copyIt(deep), 0]
    for (; Array.isArray(copy); copy = copy[0]) depth++
    expect(depth).toBe(200_000)
  })

  it('keeps an own field of the name __proto__ a field', () => {
    const copy = copyIt(JSON.parse('{"__proto__":{"isAdmin":true},"constructor":{"a":[1]}}'))
    expect(Object.keys(copy)).toEqual(['__proto__', 'constructor'])
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"isAdmin":true},"constructor":{"a":[1]}}')
  })
})

describe('copyPlain', () => {
  it('shares what is neither a plain object nor a list', () => {
    const made = { when: new Date(0), amounts: new Map(), money: new (class Money {})() }
    const copy = copyPlain(made)
    expect([copy.when, copy.amounts, copy.money]).toEqual([made.when, made.amounts, made.money])
    expect(copy.money).toBe(made.money)
  })

  it('shares lists of a class', () => {
    class Lines extends Array<number> {}
    const made = { lines: new Lines(), bare: Object.setPrototypeOf([1], Object.create(null)) as number[] }
    const copy = copyPlain(made)
    expect(copy).not.toBe(made)
    expect(copy.lines).toBe(made.lines)
    expect(copy.bare).toBe(made.bare)
  })

  it.each<[string, () => object]>([
    ['a getter', () => Object.defineProperty({}, 'a', { enumerable: true, get: () => expect.fail('read') })],
    ['a proxy', () => new Proxy({}, { getPrototypeOf: () => expect.fail('read') })],
  ])('throws what %s throws, and copyReadable shares that part then', (_what, toEvil) => {
    const made = { evil: toEvil(), list: [1] }
    expect(() => copyPlain(made)).toThrow('read')
    const copy = copyReadable(made)
    expect([copy === made, copy.evil === made.evil, copy.list === made.list]).toEqual([false, true, false])
    expect(copy.list).toEqual([1])
  })

  it('copies lists with their holes and with fields of their own, such as a match', () => {
    const holes = [1, 2, { a: 1 }]
    delete holes[1]
    const made = { match: /(?<user>.+)@/.exec('zoe@example.test'), sum: Object.assign([1], { total: 1 }), holes }
    const copy = copyPlain(made)
    expect(copy).toStrictEqual(made)
    expect(copy.match?.groups?.user).toBe('zoe')
    expect([copy.sum.total, 1 in copy.holes]).toEqual([1, false])
    for (const name of ['match', 'sum', 'holes'] as const) expect(copy[name]).not.toBe(made[name])
    expect(copy.holes[2]).not.toBe(holes[2])
  })

  it('shares long lists with holes: one index may result in any length', () => {
    const byId: object[] = []
    byId[4_000_000_000] = {}
    const rows = Array.from({ length: 2_000 }, () => ({}))
    const copy = copyReadable({ byId, rows })
    expect(copy.byId).toBe(byId)
    expect([copy.rows === rows, copy.rows[1_999] === rows[1_999]]).toEqual([false, false])
    expect(copy.rows).toEqual(rows)
  })

  it('copies objects without a prototype as such', () => {
    const made = Object.assign(Object.create(null) as { a?: object }, { a: { b: 1 } })
    const copy = copyPlain({ made }).made
    expect(Object.getPrototypeOf(copy)).toBeNull()
    expect([copy.a, copy.a === made.a]).toEqual([{ b: 1 }, false])
  })

  it('copies lists and objects of another realm', () => {
    const { list } = runInNewContext('({ list: [{ a: 1 }] })') as { list: { a: number }[] } // the script returns it
    const copy = copyPlain({ list })
    expect(copy.list).not.toBe(list)
    expect(copy.list[0]).not.toBe(list[0])
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

  it('leaves getters of the app alone until the copy is made', () => {
    const frozen = Object.freeze({ list: Object.freeze([1]) })
    const copy = copyPlain(frozen) as { list: number[] }
    copy.list.push(2)
    expect([frozen.list, copy.list]).toEqual([[1], [1, 2]])
  })
})
