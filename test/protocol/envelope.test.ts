import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  checkEnvelope,
  claimedAccountOf,
  hasRecord,
  isObject,
  parseAgain,
  parseEnvelope,
  withModel,
} from '../../src/protocol/envelope.ts'
import { Rejection } from '../../src/protocol/outcome.ts'
import { runs } from '../support/runs.ts'

const ENVELOPE = {
  id: 'evt_1',
  type: 'contact.created',
  timestamp: '2025-01-01T00:00:00.000Z',
  accountKey: 'acme',
  data: {},
}

const encode = (text: string) => new Uint8Array(Buffer.from(text))
const parse = (text: string) => {
  const parsed = parseEnvelope(encode(text))
  return parsed instanceof Rejection ? parsed : parsed.event
}
const parseWith = (fields: object) => parse(JSON.stringify({ ...ENVELOPE, ...fields }))

function codeOf(result: ReturnType<typeof parse | typeof parseEnvelope>): string | undefined {
  return result instanceof Rejection ? result.code : undefined
}

describe('parseEnvelope', () => {
  it('returns the event with all its content', () => {
    const sent = { ...ENVELOPE, data: { record: { _id: '1', tags: [null, 1] } }, attempt: 3, meta: { a: null } }
    expect(parse(JSON.stringify(sent))).toEqual(sent)
  })

  it.each<[string, Uint8Array, string]>([
    ['a BOM', encode(`\ufeff${JSON.stringify(ENVELOPE)}`), 'invalid_utf8'],
    [
      'a character cut in two',
      encode(JSON.stringify({ ...ENVELOPE, id: 'é' })).filter((byte) => byte !== 0xa9),
      'invalid_utf8',
    ],
    ['an overlong slash', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), 'invalid_utf8'],
    ['a code point beyond U+10FFFF', Buffer.from([0x22, 0xf4, 0x90, 0x80, 0x80, 0x22]), 'invalid_utf8'],
    ['UTF-16 without a BOM', Buffer.from(JSON.stringify(ENVELOPE), 'utf16le'), 'invalid_json'],
    ['nothing', new Uint8Array(), 'invalid_json'],
    ['a character that begins as a BOM does', Buffer.from([0xef, 0xbb, 0x80]), 'invalid_json'],
    ['a character that ends as a BOM does', Buffer.from([0xe1, 0xbb, 0xbf]), 'invalid_json'],
    ['a character that begins and ends as a BOM does', Buffer.from([0xef, 0xa0, 0xbf]), 'invalid_json'],
    ['broken JSON', encode('{"id":"evt_1",'), 'invalid_json'],
    ['null', encode('null'), 'invalid_envelope'],
    ['a number', encode('7'), 'invalid_envelope'],
    ['a string', encode('"evt_1"'), 'invalid_envelope'],
    ['an array', encode('[]'), 'invalid_envelope'],
    ['an empty object', encode('{}'), 'invalid_envelope'],
    ['an envelope only inside __proto__', encode(`{"__proto__":${JSON.stringify(ENVELOPE)}}`), 'invalid_envelope'],
  ])('refuses %s', (_what, bytes, code) => expect(codeOf(parseEnvelope(bytes))).toBe(code))

  const HORSE = String.fromCodePoint(0x1f40e)
  // Long values have a name: no title of a test may be longer than its line.
  it.each<[field: string, what: string, value: string, isTaken: boolean]>([
    ['id', 'one character', 'x', true],
    ['id', '1,024 characters', 'x'.repeat(1_024), true],
    ['id', '1,025 characters', 'x'.repeat(1_025), false],
    ['id', '512 characters of two units', HORSE.repeat(512), true],
    ['id', '513 characters of two units', HORSE.repeat(513), false],
    ['type', '256 characters', 'x'.repeat(256), true],
    ['type', '257 characters', 'x'.repeat(257), false],
    ['accountKey', '256 characters', 'x'.repeat(256), true],
    ['accountKey', '257 characters', 'x'.repeat(257), false],
    ['timestamp', 'empty', '', true],
    ['timestamp', 'no date', 'yesterday', true],
    ['id', 'constructor', 'constructor', true],
    ['id', '__proto__', '__proto__', true],
    ['type', 'toString', 'toString', true],
    ['accountKey', '__proto__', '__proto__', true],
    ['id', 'control characters', '\u0000\u001b[31m', true],
    ['id', 'a lone surrogate', '\ud800', true],
  ])('judges "%s" by its length: %s', (field, _what, value, isTaken) => {
    const result = parseWith({ [field]: value })
    expect(codeOf(result)).toBe(isTaken ? undefined : 'invalid_envelope')
    if (isTaken) expect(result).toMatchObject({ [field]: value })
    else expect(result).toMatchObject({ reason: expect.stringContaining(`"${field}"`) })
  })

  describe.each(['id', 'type', 'accountKey', 'timestamp'])('"%s"', (field) => {
    it.each([[undefined], [null], [7], [0], [true], [['evt_1']], [{}]])('is refused when it is %j', (value) =>
      expect(codeOf(parseWith({ [field]: value }))).toBe('invalid_envelope'),
    )
    it('is refused when it stands only inside __proto__', () => {
      const { [field as 'id']: value, ...rest } = ENVELOPE // one of its keys
      const text = JSON.stringify(rest).replace('{', `{"__proto__":{"${field}":${JSON.stringify(value)}},`)
      expect(codeOf(parse(text))).toBe('invalid_envelope')
    })
  })

  it.each(['id', 'type', 'accountKey'])('refuses an empty "%s"', (field) =>
    expect(codeOf(parseWith({ [field]: '' }))).toBe('invalid_envelope'),
  )

  it.each([
    ['missing', JSON.stringify({ ...ENVELOPE, data: undefined })],
    ['null', JSON.stringify({ ...ENVELOPE, data: null })],
  ])('treats data that is %s as {}', (_what, text) => expect(parse(text)).toEqual(ENVELOPE))

  it.each([[[]], ['text'], [0], [false], [7]])('refuses data that is %j', (data) =>
    expect(codeOf(parseWith({ data }))).toBe('invalid_envelope'),
  )

  it('lets the last of duplicate keys win', () => {
    const text = JSON.stringify(ENVELOPE).replace('}', '},"id":"evt_2","type":"contact.updated"')
    expect(parse(text)).toMatchObject({ id: 'evt_2', type: 'contact.updated' })
    expect(codeOf(parse(JSON.stringify(ENVELOPE).replace('}', '},"id":7')))).toBe('invalid_envelope')
  })

  it('keeps prototype names as ordinary fields and changes no prototype', () => {
    const text = JSON.stringify(ENVELOPE).replace(
      '{}',
      '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}}',
    )
    const event = parse(text.replace('{', '{"__proto__":{"isAdmin":true},'))
    if (event instanceof Rejection) throw new Error(event.reason)
    expect(Object.getPrototypeOf(event)).toBe(Object.prototype)
    expect(Object.getPrototypeOf(event.data)).toBe(Object.prototype)
    expect(Object.keys(event.data)).toEqual(['__proto__', 'constructor'])
    expect('isAdmin' in event || 'isAdmin' in event.data || 'isAdmin' in {}).toBe(false)
  })

  it.each([
    ['with blanks around it', ` \t${JSON.stringify(ENVELOPE)}\r\n`],
    ['with every character escaped', JSON.stringify(ENVELOPE).replace('evt_1', '\\u0065\\u0076\\u0074\\u005f\\u0031')],
  ])('accepts JSON %s', (_what, text) => expect(parse(text)).toEqual(ENVELOPE))

  it('survives nesting 200,000 deep', () => {
    const arrays = parse(JSON.stringify(ENVELOPE).replace('{}', `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`))
    expect(codeOf(arrays)).toBeUndefined()
    const objects = parse(JSON.stringify(ENVELOPE).replace('{}', `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`))
    expect(codeOf(objects)).toBeUndefined()
    expect(codeOf(parse('['.repeat(200_000)))).toBe('invalid_json')
  })

  it('survives 1e400 and 4,000 keys', () => {
    expect(parse(JSON.stringify(ENVELOPE).replace('{}', '{"n":1e400,"m":-1e400}'))).toMatchObject({
      data: { n: Infinity, m: -Infinity },
    })
    const keys = Object.fromEntries(Array.from({ length: 4_000 }, (_, index) => [`key ${index}`, index]))
    expect(parseWith({ data: keys, ...keys })).toMatchObject({ data: keys, ...keys })
  })

  it('reads a view of a larger buffer as its own bytes only', () => {
    const text = JSON.stringify(ENVELOPE)
    expect(parseEnvelope(encode(`xx${text}yy`).subarray(2, 2 + text.length))).toEqual({ event: ENVELOPE, text })
  })

  it('returns any envelope that was written as JSON', () => {
    const text = (maxLength: number) => fc.string({ unit: 'binary', minLength: 1, maxLength })
    const envelope = fc.record({
      id: text(400),
      type: text(100),
      timestamp: fc.string({ unit: 'binary' }),
      accountKey: text(100),
      data: fc.dictionary(fc.string(), fc.jsonValue()),
      further: fc.jsonValue(),
    })
    fc.assert(
      fc.property(envelope, fc.constantFrom(undefined, 2, '\t'), (event, indent) => {
        expect(parse(JSON.stringify(event, null, indent))).toEqual(JSON.parse(JSON.stringify(event)))
      }),
      runs(200),
    )
  })

  it('judges any value in any field, and never throws', () => {
    const anything = fc.oneof(fc.anything(), fc.constant('text'))
    const fields = fc.record({
      id: anything,
      type: anything,
      timestamp: anything,
      accountKey: anything,
      data: anything,
    })
    fc.assert(
      fc.property(fc.oneof(fields, fc.anything()), (value) => {
        const result = checkEnvelope(value)
        if (result instanceof Rejection) return
        for (const text of [result.id, result.type, result.accountKey])
          expect(text).toEqual(expect.stringMatching(/./s))
        expect(isObject(result.data)).toBe(true)
      }),
      runs(300),
    )
  })
})

describe('parseAgain', () => {
  it.each([[{ ...ENVELOPE, data: null }], [{ ...ENVELOPE, model: 'stray', further: [1] }]])(
    'returns %j as for the first handler',
    (sent) => {
      const about = { model: 'contact', action: 'created' } as const
      const [text, first] = [JSON.stringify(sent), parseWith(sent)]
      if (first instanceof Rejection) throw new Error(first.reason)
      expect(parseAgain(text, about)).toStrictEqual(withModel(first, about))
    },
  )
})

describe('claimedAccountOf', () => {
  const claimed = (fields: object) => claimedAccountOf(encode(JSON.stringify({ ...ENVELOPE, ...fields })))

  it('reads the account by the rules of the verified event, whatever else is wrong', () => {
    expect(claimed({})).toBe('acme')
    expect(claimed({ accountKey: '__proto__' })).toBe('__proto__')
    expect(claimed({ id: 7, type: '' })).toBe('acme')
    const twice = JSON.stringify(ENVELOPE).replace('}', '},"accountKey":"other"')
    expect(claimedAccountOf(encode(twice))).toBe('other')
  })

  it.each([[''], [7], ['x'.repeat(257)], [['acme']]])('reads no account from %j', (accountKey) => {
    expect(claimed({ accountKey })).toBeUndefined()
  })

  it.each([['{'], ['[]'], ['null'], ['"acme"'], ['\ufeff{}']])('reads no account from the body %j', (body) => {
    expect(claimedAccountOf(encode(body))).toBeUndefined()
  })
})

describe('hasRecord', () => {
  it.each<[object, boolean]>([
    [{ record: { _id: '1' } }, true],
    [{ record: { _id: '' } }, true],
    [{ record: { _id: 7 } }, false],
    [{ record: [] }, false],
    [{ record: null }, false],
    [{ record: '_id' }, false],
    [{}, false],
    [JSON.parse('{"__proto__":{"record":{"_id":"1"}}}'), false],
    [JSON.parse('{"record":{"__proto__":{"_id":"1"}}}'), false],
  ])('of %j is %s', (data, expected) => expect(hasRecord({ ...data })).toBe(expected))
})
