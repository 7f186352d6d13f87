import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { accountOfKey, accountPartOf, dedupKey, positionKey } from '../../src/protocol/dedup-key.ts'
import { runs } from '../support/runs.ts'

describe('dedupKey', () => {
  it('keeps short, printable parts readable', () => {
    expect(dedupKey('default', 'acme', 'evt_1')).toBe('7:default4:acme5:evt_1')
  })

  it('replaces parts that are long or not printable ASCII by a digest', () => {
    const digest = /^7:default#[\w-]{43}5:evt_1$/
    for (const account of ['a'.repeat(129), 'žluť', 'a b', 'a\n', '\u0000', '\ud800'])
      expect(dedupKey('default', account, 'evt_1')).toMatch(digest)
    expect(dedupKey('default', 'a'.repeat(128), 'evt_1')).toContain('a'.repeat(128))
  })

  type Triple = readonly [string, string, string]

  it.each<readonly [string, Triple, Triple]>([
    ['the border between parts', ['a', 'bc', 'd'], ['ab', 'c', 'd']],
    ['a part that looks like a length', ['a', '1:b', 'c'], ['a', 'b', '1:c']],
    ['a part that looks like a digest', ['a', `#${'x'.repeat(43)}`, 'c'], ['a', 'x'.repeat(43), 'c']],
    ['two lone surrogates', ['a', 'b', '\ud800'], ['a', 'b', '\ud801']],
    ['a lone surrogate and U+FFFD', ['a', 'b', '\ud800'], ['a', 'b', '\ufffd']],
    ['the last of 1,024 characters', ['a', 'b', 'x'.repeat(1_024)], ['a', 'b', `${'x'.repeat(1_023)}y`]],
  ])('distinguishes triples that differ by %s', (_what, one, other) => {
    expect(dedupKey(...one)).not.toBe(dedupKey(...other))
  })

  // Pieces that are likely to collide: borders, lengths, digests, odd characters.
  const piece = fc.constantFrom(
    'a',
    'b',
    '1',
    '2',
    ':',
    '#',
    '1:a',
    '#x',
    'é',
    '\ud800',
    '\udc00',
    '\u0000',
    ' ',
    'a'.repeat(127),
  )
  const part = fc.oneof(
    fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join('')),
    fc
      .array(fc.integer({ min: 0, max: 0xffff }), { minLength: 1, maxLength: 200 })
      .map((units) => String.fromCharCode(...units)),
  )
  const triple = fc.tuple(part, part, part)

  it('returns short, printable ASCII', () => {
    fc.assert(
      fc.property(triple, (parts) => {
        const key = dedupKey(...parts)
        expect(key).toMatch(/^[\x21-\x7e]+$/)
        expect(key.length).toBeLessThanOrEqual(400)
      }),
      runs(300),
    )
  })

  it('returns different keys for any two triples', () => {
    fc.assert(
      fc.property(triple, triple, (one, other) => {
        const isSame = one.every((text, index) => text === other[index])
        expect(dedupKey(...one) === dedupKey(...other)).toBe(isSame)
      }),
      runs(300),
    )
  })

  it('lets the account be read back if it is readable', () => {
    fc.assert(
      fc.property(triple, (parts) => {
        const account = parts[1]
        const isReadable = account.length <= 128 && /^[\x21-\x7e]+$/.test(account)
        expect(accountOfKey(dedupKey(...parts))).toBe(isReadable ? account : undefined)
      }),
      runs(300),
    )
  })

  it.each(['', 'x', ':', '#', '7:default', '7:default4:acme', '999:x', '1:a99:b', 'evt_1', '__proto__'])(
    'reads no account out of a foreign key such as %j, and does not throw',
    (key) => {
      const account = accountOfKey(key)
      expect(account === undefined || key.includes(account)).toBe(true)
    },
  )
})

describe('positionKey', () => {
  const of = (model: string, id: string, handler: string) => ({ model, id, handler })

  it('belongs to its account, like the keys of events, and is short whatever the name of the record', () => {
    for (const account of ['acme', 'žluť']) {
      const key = positionKey('default', account, of('contact', 'x'.repeat(1_000_000), 'contact.*'))
      expect(accountPartOf(key)).toBe(accountPartOf(dedupKey('default', account, 'evt_1')))
      expect(key).toMatch(/^[\x21-\x7e]{40,200}$/)
    }
  })

  it.each([
    [of('a', 'bc', 'd'), of('ab', 'c', 'd')],
    [of('a', 'b', 'cd'), of('a', 'bc', 'd')],
    [of('a', '1:b', 'c'), of('a', 'b', '1:c')],
    [of('a', 'b1:', 'c'), of('a', 'b', '1:c')],
    [of('a', '\ud800', 'c'), of('a', '\ufffd', 'c')],
    [of('a', 'B', 'c'), of('a', 'b', 'c')],
    [of('a', 'b', 'c'), of('b', 'a', 'c')],
  ])('distinguishes %j from %j', (one, other) => {
    expect(positionKey('a', 'b', one)).not.toBe(positionKey('a', 'b', other))
  })

  it('is never that of another account or receiver, nor that of an event, whatever its id', () => {
    const record = of('contact', 'c1', 'crm')
    const key = positionKey('default', 'acme', record)
    expect(positionKey('default', 'acm', record)).not.toBe(key)
    expect(positionKey('other', 'acme', record)).not.toBe(key)
    for (const id of [key, key.slice(key.indexOf('@')), `@${key}`])
      expect(dedupKey('default', 'acme', id)).not.toBe(key)
  })
})
