import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { sign, verify } from 'postern'
import { describe, expect, it } from 'vitest'
import { importSecret, isWellFormed, KeyCache, matchesKey, onlyValue } from '../../src/protocol/signature.ts'
import { runs } from '../support/runs.ts'

const SECRET = 'whsec_5f1d3a'
const BODY = '{"id":"evt_1","type":"contact.created"}'
// Not by sign(), which is the function under test.
const DIGITS = createHmac('sha256', SECRET).update(BODY).digest('hex')
const GOOD = `sha256=${DIGITS}`
const OTHERS = ['another secret', 'a third one', new Uint8Array([1, 2, 3])]

const bytesOf = (text: string) => new TextEncoder().encode(text)
const fromHex = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))

describe('known answers', () => {
  it('match the value that GitHub documents', () => {
    const value = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17'
    expect(sign('Hello, World!', "It's a Secret to Everybody")).toBe(value)
    expect(verify('Hello, World!', value, "It's a Secret to Everybody")).toBe(true)
  })

  // RFC 4231, sections 4.2 to 4.8. The digest of case 5 is truncated to 128 bits.
  it.each([
    [1, '0b'.repeat(20), '4869205468657265', 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7'],
    [
      2,
      '4a656665',
      '7768617420646f2079612077616e7420666f72206e6f7468696e673f',
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    ],
    [3, 'aa'.repeat(20), 'dd'.repeat(50), '773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe'],
    [
      4,
      '0102030405060708090a0b0c0d0e0f10111213141516171819',
      'cd'.repeat(50),
      '82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b',
    ],
    [5, '0c'.repeat(20), '546573742057697468205472756e636174696f6e', 'a3b6167473100ee06e0c796c2955552b'],
    [
      6,
      'aa'.repeat(131),
      '54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374',
      '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
    ],
    [
      7,
      'aa'.repeat(131),
      '5468697320697320612074657374207573696e672061206c6172676572207468616e20626c6f636b2d73697a65206b657920616e642061206c6172676572207468616e20626c6f636b2d73697a6520646174612e20546865206b6579206e6565647320746f20626520686173686564206265666f7265206265696e6720757365642062792074686520484d414320616c676f726974686d2e',
      '9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2',
    ],
  ])('agrees with case %i of RFC 4231', (_case, key, message, digest) => {
    const signature = sign(fromHex(message), fromHex(key))
    expect(signature.slice('sha256='.length, 'sha256='.length + digest.length)).toBe(digest)
    expect(verify(fromHex(message), signature, fromHex(key))).toBe(true)
    if (digest.length === 64) expect(verify(fromHex(message), `sha256=${digest}`, fromHex(key))).toBe(true)
    else expect(verify(fromHex(message), `sha256=${digest}`, fromHex(key))).toBe(false)
  })
})

describe('strings and bytes', () => {
  it.each(['', 'plain', 'žluťoučký kůň 🐎', '\u0000', '\ufeff{}'])('sign the same for %j', (text) => {
    expect(sign(text, SECRET)).toBe(sign(bytesOf(text), bytesOf(SECRET)))
    expect(verify(bytesOf(text), sign(text, SECRET), Buffer.from(SECRET))).toBe(true)
  })

  it('treats a view of a larger buffer as its own bytes only', () => {
    const view = bytesOf(`xx${BODY}yy`).subarray(2, 2 + BODY.length)
    expect(verify(view, GOOD, SECRET)).toBe(true)
  })

  it.each([undefined, null, {}, [], 7, new Date(0)])('refuse a body that is %j, whatever the header is', (body) => {
    // The types refuse these; an app in plain JavaScript passes what its body parser left.
    const anything = body as unknown as string
    const refusal = expect.objectContaining({ code: 'body_consumed', message: expect.stringContaining('exact bytes') })
    expect(() => sign(anything, SECRET)).toThrow(refusal)
    expect(() => verify(anything, GOOD, SECRET)).toThrow(refusal)
    expect(() => verify(anything, undefined, SECRET)).toThrow(refusal)
  })
})

describe('the header', () => {
  it('accepts digits in either case', () => {
    expect(verify(BODY, `sha256=${DIGITS.toUpperCase()}`, SECRET)).toBe(true)
    expect(verify(BODY, `sha256=${DIGITS.slice(0, 32).toUpperCase()}${DIGITS.slice(32)}`, SECRET)).toBe(true)
  })

  it('accepts a list of one value', () => expect(verify(BODY, [GOOD], SECRET)).toBe(true))

  const hex = Buffer.from(DIGITS, 'hex')
  it.each<[string, string | string[] | null | undefined]>([
    ['nothing', undefined],
    ['null', null],
    ['an empty value', ''],
    ['no value in the list', []],
    ['the good value twice', [GOOD, GOOD]],
    ['the good value before a bad one', [GOOD, 'sha256=00']],
    ['the good value after a bad one', ['sha256=00', GOOD]],
    ['an empty value in a list', ['']],
    ['a comma list', `${GOOD}, ${GOOD}`],
    ['a comma list without blank', `${GOOD},${GOOD}`],
    ['a comma at the end', `${GOOD},`],
    ['the digits alone', DIGITS],
    ['an upper-case prefix', `SHA256=${DIGITS}`],
    ['a mixed-case prefix', `Sha256=${DIGITS}`],
    ['another algorithm', `sha1=${DIGITS}`],
    ['a prefix with a dash', `sha-256=${DIGITS}`],
    ['a colon', `sha256:${DIGITS}`],
    ['the prefix twice', `sha256=${GOOD}`],
    ['a version before it', `v1,${GOOD}`],
    ['the prefix alone', 'sha256='],
    ['a blank in front', ` ${GOOD}`],
    ['a blank at the end', `${GOOD} `],
    ['a blank after the prefix', `sha256= ${DIGITS}`],
    ['a blank instead of a digit', `sha256=${DIGITS.slice(0, 63)} `],
    ['a line break at the end', `${GOOD}\n`],
    ['a line break in front', `\n${GOOD}`],
    ['a NUL at the end', `${GOOD}\u0000`],
    ['a quoted value', `"${GOOD}"`],
    ['0x before the digits', `sha256=0x${DIGITS.slice(2)}`],
    ['full-width digits', `sha256=${DIGITS.replace(/\d/g, (d) => String.fromCharCode(0xff10 + Number(d)))}`],
    ['a letter beyond f', `sha256=${DIGITS.slice(0, 63)}g`],
    ['base64', `sha256=${hex.toString('base64')}`],
    ['base64url', `sha256=${hex.toString('base64url')}`],
    ['the raw digest', `sha256=${hex.toString('latin1')}`],
    ['a digest of zeros', `sha256=${'0'.repeat(64)}`],
  ])('refuses %s', (_what, header) => expect(verify(BODY, header, SECRET)).toBe(false))

  it('refuses characters whose low byte is the right digit', () => {
    for (let place = 0; place < 64; place++)
      for (const high of [0x100, 0x2100, 0xff00, 0xd800]) {
        const lookalike = String.fromCharCode(DIGITS.charCodeAt(place) | high)
        const header = `sha256=${DIGITS.slice(0, place)}${lookalike}${DIGITS.slice(place + 1)}`
        expect(isWellFormed(header), `place ${place}`).toBe(false)
        expect(verify(BODY, header, SECRET), `place ${place}`).toBe(false)
      }
    const allOfThem = [...DIGITS].map((digit) => String.fromCharCode(digit.charCodeAt(0) | 0x100)).join('')
    expect(verify(BODY, `sha256=${allOfThem}`, SECRET)).toBe(false)
  })

  it('reads every character correctly: 22 digits, and 65,514 others', () => {
    const rest = '0'.repeat(63)
    for (let unit = 0; unit <= 0xffff; unit++) {
      const character = String.fromCharCode(unit)
      const isDigit = '0123456789abcdefABCDEF'.includes(character)
      if (
        isWellFormed(`sha256=${character}${rest}`) !== isDigit ||
        isWellFormed(`sha256=${rest}${character}`) !== isDigit
      )
        expect.fail(`U+${unit.toString(16)}`)
    }
  })

  it('refuses every number of digits but 64', () => {
    const digits = DIGITS.repeat(5)
    for (let length = 0; length <= 300; length++)
      expect(verify(BODY, `sha256=${digits.slice(0, length)}`, SECRET), `${length} digits`).toBe(length === 64)
  })

  it('refuses the digest of another algorithm, key or body', () => {
    for (const algorithm of ['sha1', 'sha512', 'sha512-256', 'md5', 'sha3-256'])
      expect(verify(BODY, `sha256=${createHmac(algorithm, SECRET).update(BODY).digest('hex')}`, SECRET)).toBe(false)
    expect(verify(BODY, sign(BODY, 'another'), SECRET)).toBe(false)
    expect(verify(BODY, sign(`${BODY} `, SECRET), SECRET)).toBe(false)
  })

  it('refuses every flip of one bit of the digest', () => {
    for (let bit = 0; bit < 256; bit++) {
      const flipped = new Uint8Array(hex)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(verify(BODY, `sha256=${Buffer.from(flipped).toString('hex')}`, SECRET), `bit ${bit}`).toBe(false)
    }
  })

  it('refuses, and never throws on, anything that is not a string or a list of one', () => {
    const property = fc.property(fc.anything(), (header) => {
      // Plain JavaScript can pass anything here.
      expect(verify(BODY, header as string, SECRET)).toBe(false)
      expect(verify(BODY, [header] as string[], SECRET)).toBe(false)
    })
    fc.assert(property, { ...runs(300), examples: [[[[GOOD]]], [{ toString: () => GOOD }]] })
  })

  it('accepts by the grammar and nothing else', () => {
    const digit = fc.constantFrom(...'0123456789abcdefABCDEF')
    const almost = fc
      .tuple(
        fc.constantFrom('sha256=', 'SHA256=', 'sha1=', '', ' sha256=', 'sha256:'),
        fc.array(digit, { minLength: 60, maxLength: 68 }),
        fc.constantFrom('', ' ', '\n', '\r', '\t', ',', '\u0000', 'g'),
      )
      .map(([prefix, digits, rest]) => prefix + digits.join('') + rest)
    fc.assert(
      fc.property(fc.oneof(almost, fc.string({ unit: 'binary' })), (header) => {
        const [prefix, rest] = [header.slice(0, 7), header.slice(7)]
        const isGood =
          prefix === 'sha256=' && rest.length === 64 && [...rest].every((c) => '0123456789abcdefABCDEF'.includes(c))
        expect(isWellFormed(header)).toBe(isGood)
        expect(verify(BODY, header, SECRET)).toBe(false)
      }),
      { ...runs(300) },
    )
  })
})

describe('the body', () => {
  it('verifies when it is empty', () => expect(verify('', sign('', SECRET), SECRET)).toBe(true))

  it('is refused after every flip of one bit', () => {
    const body = bytesOf(BODY)
    for (let bit = 0; bit < body.length * 8; bit++) {
      const flipped = new Uint8Array(body)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(verify(flipped, GOOD, SECRET), `bit ${bit}`).toBe(false)
    }
  })

  it.each([
    ['a BOM in front', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('{"a":"\ufffd"}')])],
    ['an invalid byte for U+FFFD', Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')])],
    ['a blank at the end', Buffer.from('{"a":"\ufffd"} ')],
    ['a line break at the end', Buffer.from('{"a":"\ufffd"}\n')],
    ['a NUL at the end', Buffer.from('{"a":"\ufffd"}\u0000')],
    ['an escape for the character', Buffer.from('{"a":"\\ufffd"}')],
    ['its last byte missing', Buffer.from('{"a":"\ufffd"')],
  ])('is refused with %s', (_what, changed) => {
    expect(verify(changed, sign('{"a":"\ufffd"}', SECRET), SECRET)).toBe(false)
  })

  it('verifies unchanged, and not with any byte changed, inserted or removed', () => {
    const changes = fc.record({
      at: fc.nat(),
      xor: fc.integer({ min: 1, max: 255 }),
      kind: fc.constantFrom('change', 'insert', 'remove'),
    })
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 300 }),
        fc.uint8Array({ minLength: 1 }),
        changes,
        (body, key, { at, xor, kind }) => {
          const signature = sign(body, Buffer.concat([key, Buffer.from([0])]))
          const secret = Buffer.concat([key, Buffer.from([0])])
          expect(verify(body, signature, secret)).toBe(true)
          const place = at % body.length
          const changed = [...body]
          if (kind === 'change') changed[place] = (changed[place] ?? 0) ^ xor
          else if (kind === 'insert') changed.splice(place, 0, xor)
          else changed.splice(place, 1)
          expect(verify(Uint8Array.from(changed), signature, secret)).toBe(false)
        },
      ),
      runs(200),
    )
  })
})

describe('several secrets', () => {
  it.each([0, 1, 2, 3])('accept the right one at position %i', (position) => {
    const secrets = OTHERS.toSpliced(position, 0, SECRET)
    expect(verify(BODY, GOOD, secrets)).toBe(true)
    expect(verify(`${BODY} `, GOOD, secrets)).toBe(false)
  })

  it('refuse when the right one is not among them', () => expect(verify(BODY, GOOD, OTHERS)).toBe(false))

  it('accept the right one twice', () => expect(verify(BODY, GOOD, [SECRET, SECRET])).toBe(true))

  it('accept exactly the signatures of their members', () => {
    const secret = fc.stringMatching(/^[a-z][!-~]{0,19}$/)
    fc.assert(
      fc.property(
        fc.uniqueArray(secret, { minLength: 1, maxLength: 6 }),
        secret,
        fc.string(),
        (secrets, signer, body) => {
          expect(verify(body, sign(body, signer), secrets)).toBe(secrets.includes(signer))
          for (const member of secrets) expect(verify(body, sign(body, member), secrets)).toBe(true)
        },
      ),
      runs(100),
    )
  })
})

describe('a secret', () => {
  const unusable: readonly [string, unknown][] = [
    ['undefined', undefined],
    ['null', null],
    ['an empty string', ''],
    ['blanks', '   '],
    ['a line break alone', '\n'],
    ['a tab alone', '\t'],
    ['a no-break space alone', '\u00a0'],
    ['a byte order mark in front', '\ufeffabc'],
    ['a blank in front', ' abc'],
    ['a blank at the end', 'abc '],
    ['a line break at the end', 'abc\n'],
    ['a Windows line break at the end', 'abc\r\n'],
    ['no bytes', new Uint8Array()],
    ['an empty buffer', Buffer.alloc(0)],
    ['the bytes of blanks', Buffer.from('  ')],
    ['the bytes of a file that ends with a line break', Buffer.from('whsec_abc\n')],
    ['the bytes of a file that ends with a Windows line break', Buffer.from('whsec_abc\r\n')],
    ['the bytes of text beyond ASCII that end with a line break', Buffer.from('heslo-žluť\n')],
    ['the bytes of text with a byte order mark', Buffer.from('\ufeffwhsec_abc')],
    ['a number', 7],
    ['false', false],
    ['an object', { secret: 'abc' }],
    ['a list in a list', [['abc']]],
    ['an empty list', []],
    ['a list with an empty string', ['']],
    ['a list with undefined after a good one', [SECRET, undefined]],
    ['a list with a blank edge after a good one', [SECRET, 'abc\n']],
    ['a list with empty bytes before a good one', [new Uint8Array(), SECRET]],
  ]
  const refusal = expect.objectContaining({ name: 'ConfigurationError', code: 'secret_unusable' })

  it.each(unusable)('is refused when it is %s', (_what, secret) => {
    // The types refuse most of these; an unset environment variable is undefined at run time.
    const given = secret as string
    expect(() => verify(BODY, GOOD, given)).toThrow(refusal)
    expect(() => verify(BODY, undefined, given), 'whatever the header is').toThrow(refusal)
    expect(() => sign(BODY, given)).toThrow(refusal)
  })

  it.each<[unknown, RegExp]>([
    ['', / is an empty string\. /],
    [' ', / is blank\. /],
    ['abc ', /at an edge; trim it/],
    ['"abc"', / is in quotes, which belong to the file/],
    [undefined, / is undefined: set the environment variable/],
    [null, / is null; give text or bytes/],
    [7, / is of type number; give text or bytes/],
    [Promise.resolve('abc'), / is a promise: await it/],
  ])('%j is refused by its own name', (secret, message) => {
    // The types refuse most of these.
    expect(() => sign(BODY, secret as string)).toThrow(message)
  })

  it('is never quoted in the refusal', () => {
    expect(() => sign(BODY, 'whsec_abc\n')).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('abc') }),
    )
  })

  it.each([
    ['the 0x0b bytes of RFC 4231', new Uint8Array(20).fill(0x0b)],
    ['random bytes with blanks at both edges', new Uint8Array([0x20, 0x80, 0xff, 0x0a])],
    ['random bytes that end with a line break', new Uint8Array([0x00, 0x01, 0x0a])],
    ['bytes of zeros', new Uint8Array(32)],
    ['text with a blank inside', 'correct horse battery'],
    ['text with a line break inside', 'one\ntwo'],
    ['text beyond ASCII', 'heslo 🔑'],
    ['one character', 'x'],
    ['the bytes of text whose first one a byte order mark has too', Buffer.from('\ufb01-key')],
  ])('may be %s', (_what, secret) => expect(verify(BODY, sign(BODY, secret), secret)).toBe(true))

  it('may share its bytes with a buffer that changes later', () => {
    const bytes = bytesOf(SECRET)
    const key = importSecret(bytes)
    bytes.fill(0x41)
    expect(matchesKey(BODY, GOOD, key)).toBe(true)
  })
})

describe('matchesKey', () => {
  it.each(['', 'sha256=', `sha256=${DIGITS.slice(0, 62)}`, `sha256=${DIGITS.slice(0, 62)}zz`])(
    'does not fall back to the previous signature if this one is %j',
    (malformed) => {
      const key = importSecret(SECRET)
      expect(matchesKey(BODY, GOOD, key)).toBe(true)
      expect(matchesKey(BODY, malformed, key)).toBe(false)
    },
  )
})

describe('onlyValue', () => {
  it('distinguishes a missing header from an invalid one', () => {
    for (const missing of [undefined, null, []]) expect(onlyValue(missing)).toBeUndefined()
    expect(onlyValue([GOOD])).toBe(GOOD)
    expect(onlyValue([GOOD, GOOD])).toBe('')
  })
})

describe('invalid secrets', () => {
  it('are refused in a list as well, holes included', () => {
    const list = [SECRET, SECRET]
    delete list[1]
    expect(() => verify(BODY, GOOD, list)).toThrow('The signing secret is undefined')
    expect(() => verify(BODY, GOOD, new Array(1))).toThrow('The signing secret is undefined')
  })

  it('leave no unhandled rejection behind if they were not awaited', async () => {
    const rejections: unknown[] = []
    const keep = (reason: unknown) => rejections.push(reason)
    process.on('unhandledRejection', keep)
    const lookUp = () => Promise.reject(new Error('db down')) as never // plain JavaScript forgets to await
    expect(() => verify(BODY, GOOD, [lookUp(), lookUp()])).toThrow('is a promise: await it')
    expect(() => verify(BODY, GOOD, lookUp())).toThrow('is a promise: await it')
    expect(() => sign(BODY, lookUp())).toThrow('is a promise: await it')
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', keep)
    expect(rejections).toEqual([])
  })
})

describe('KeyCache', () => {
  it('makes the key of a text once, unless it has to keep too many texts', () => {
    const cache = new KeyCache(2)
    const [first, second] = [cache.keyOf('one'), cache.keyOf('two')]
    expect(matchesKey('body', sign('body', 'one'), first)).toBe(true)
    expect([cache.keyOf('one'), cache.keyOf('two')].map((key, at) => key === [first, second][at])).toEqual([true, true])
    const third = cache.keyOf('three')
    expect([cache.keyOf('one') === first, cache.keyOf('three') === third]).toEqual([false, true])
  })

  it('keeps no key of bytes, which may be written to later', () => {
    const cache = new KeyCache(2)
    const bytes = bytesOf(SECRET)
    const before = cache.keyOf(bytes)
    bytes.fill(1)
    expect(cache.keyOf(bytes).equals(before)).toBe(false)
    expect(() => cache.keyOf('')).toThrow('is an empty string')
  })
})
