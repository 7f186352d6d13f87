import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { sign, verify } from 'postern'
import { describe, expect, it } from 'vitest'
import { cacheKeys, importSecret, isWellFormed, matchesKey } from '../../src/protocol/signature.ts'
import { runs } from '../support/runs.ts'

const SECRET = 'whsec_5f1d3a'
const BODY = '{"id":"evt_1","type":"contact.created"}'
// Not by sign(), which is the function under test.
const DIGITS = createHmac('sha256', SECRET).update(BODY).digest('hex')
const GOOD = `sha256=${DIGITS}`

const bytesOf = (text: string) => new TextEncoder().encode(text)

describe('known answers', () => {
  it('match the value that GitHub documents', () => {
    const value = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17'
    expect(sign('Hello, World!', "It's a Secret to Everybody")).toBe(value)
    expect(verify('Hello, World!', value, "It's a Secret to Everybody")).toBe(true)
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

it('a signature in place of the body, and headers in place of one, are refused by name', () => {
  for (const body of [GOOD, bytesOf(GOOD)])
    expect(() => verify(body, BODY, SECRET)).toThrow('the body and the header are swapped')
  expect(() => verify(BODY, new Headers() as never, SECRET)).toThrow(
    /The header is an object \(Headers\); give the value/,
  )
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
    ['no value in the list', []],
    ['the good value twice', [GOOD, GOOD]],
    ['a comma list', `${GOOD}, ${GOOD}`],
    ['the digits alone', DIGITS],
    ['a mixed-case prefix', `Sha256=${DIGITS}`],
    ['another algorithm', `sha1=${DIGITS}`],
    ['the prefix twice', `sha256=${GOOD}`],
    ['a blank in front', ` ${GOOD}`],
    ['base64', `sha256=${hex.toString('base64')}`],
    ['a digest of zeros', `sha256=${'0'.repeat(64)}`],
  ])('refuses %s', (_what, header) => expect(verify(BODY, header, SECRET)).toBe(false))

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

  it('is never taken for a signature if it is anything but a string or a list of one', () => {
    const property = fc.property(fc.anything(), (header) => {
      // Plain JavaScript can pass anything here.
      const call = () => verify(BODY, header as string, SECRET)
      if (header == null || typeof header === 'string' || Array.isArray(header)) expect(call()).toBe(false)
      else expect(call).toThrow(expect.objectContaining({ code: 'option_invalid' }))
      expect(verify(BODY, [header] as string[], SECRET)).toBe(false)
    })
    fc.assert(property, { ...runs(300), examples: [[[[GOOD]]], [{ toString: () => GOOD }]] })
  })
})

describe('the body', () => {
  it('verifies when it is empty', () => expect(verify('', sign('', SECRET), SECRET)).toBe(true))

  it.each([
    ['a BOM in front', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('{"a":"\ufffd"}')])],
    ['an invalid byte for U+FFFD', Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')])],
    ['a line break at the end', Buffer.from('{"a":"\ufffd"}\n')],
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
    ['a byte order mark in front', '\ufeffabc'],
    ['a Windows line break at the end', 'abc\r\n'],
    ['no bytes', new Uint8Array()],
    ['the bytes of blanks', Buffer.from('  ')],
    ['the bytes of a file that ends with a line break', Buffer.from('whsec_abc\n')],
    ['the bytes of a file that ends with a Windows line break', Buffer.from('whsec_abc\r\n')],
    ['the bytes of text beyond ASCII that end with a line break', Buffer.from('heslo-žluť\n')],
    ['the bytes of text with a byte order mark', Buffer.from('\ufeffwhsec_abc')],
    ['a number', 7],
    ['a list in a list', [['abc']]],
    ['an empty list', []],
    ['a list with a blank edge after a good one', [SECRET, 'abc\n']],
    ['a list with empty bytes before a good one', [new Uint8Array(), SECRET]],
  ]
  const refusal = expect.objectContaining({
    name: 'ConfigurationError',
    code: 'secret_unusable',
    message: expect.not.stringContaining('abc'),
  })

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
    [`sha256=${'a'.repeat(64)}`, / is a signature: the header and the secret are swapped/],
    ['"abc"', / is in quotes, which belong to the file/],
    ['“abc”', / is in quotes/],
    ['\u0024{WEBHOOK_SECRET}', / the name of a variable that nothing replaced/],
    ['$WEBHOOK_SECRET', / the name of a variable/],
    ['{{ webhook.secret }}', / the name of a variable/],
    ['%WEBHOOK_SECRET%', / the name of a variable/],
    ['<your secret>', / the name of a variable/],
    ['WEBHOOK_SECRET', / the name of a variable/],
    ['#{webhook_secret}', / the name of a variable/],
    ['@Microsoft.KeyVault(SecretUri=https://a.test/b)', / the name of a variable/],
    ['process.env.WEBHOOK_SECRET', / the name of a variable/],
    ['undefined', / is a value that became text/],
    ['[object Object]', / is a value that became text/],
    ['WEBHOOK_SECRET=abc', / is a whole line of an env file/],
    ['["abc","def"]', / is JSON; parse it/],
    ['{"WEBHOOK_SECRET":"abc"}', / is JSON; parse it/],
    ['whsec_abc,whsec_def', / is a list in one text; split it/],
    ['whsec_abc;whsec_def', / is a list in one text/],
    ['whsec_abc whsec_def', / is a list in one text/],
    ['whsec_abc\nwhsec_def', / is a list in one text/],
    ['whsec_\u0024{SECRET}', / the name of a variable/],
    ['********', / is masked or cut off/],
    ['whsec_...', / is masked or cut off/],
    ['op://vault/item/secret', / is the place of a secret/],
    ['/run/secrets/webhook', / is the place of a secret/],
    ['Bearer abc', / is the value of a header/],
    [undefined, / is undefined: set the environment variable/],
    [null, / is null; give text or bytes/],
    [7, / is of type number; give text or bytes/],
    [Promise.resolve('abc'), / is a promise: await it/],
  ])('%j is refused by its own name', (secret, message) => {
    // The types refuse most of these.
    expect(() => sign(BODY, secret as string)).toThrow(message)
  })

  it.each([
    ['the 0x0b bytes of RFC 4231', new Uint8Array(20).fill(0x0b)],
    ['random bytes with blanks at both edges', new Uint8Array([0x20, 0x80, 0xff, 0x0a])],
    ['random bytes that end with a line break', new Uint8Array([0x00, 0x01, 0x0a])],
    ['bytes of zeros', new Uint8Array(32)],
    ['text with a blank inside', 'correct horse battery'],
    ['text with a line break inside', 'one\ntwo'],
    ['text beyond ASCII', 'heslo 🔑'],
    ['text with signs of a shell', '$2b$10$abc{d}%e<f>'],
    ['text with a comma', 'correct, horse'],
    ['the bytes of a list in one text', Buffer.from('whsec_abc,whsec_def')],
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

describe('cacheKeys', () => {
  it('makes the key of a text once, unless it has to keep too many texts', () => {
    const keyOf = cacheKeys(2)
    const [first, second] = [keyOf('one'), keyOf('two')]
    expect(matchesKey('body', sign('body', 'one'), first)).toBe(true)
    expect([keyOf('one'), keyOf('two')].map((key, at) => key === [first, second][at])).toEqual([true, true])
    const third = keyOf('three')
    expect([keyOf('one') === first, keyOf('three') === third]).toEqual([false, true])
  })

  it('keeps no key of bytes, which may be written to later', () => {
    const keyOf = cacheKeys(2)
    const bytes = bytesOf(SECRET)
    const before = keyOf(bytes)
    bytes.fill(1)
    expect(keyOf(bytes).equals(before)).toBe(false)
    expect(() => keyOf('')).toThrow('is an empty string')
  })
})
