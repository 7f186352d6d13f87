import { sign, verify } from 'postern'
import { describe, expect, it } from 'vitest'
import { SIGNINGS, type Signing, signAs, spoil } from '../../src/emulator/signing.ts'

const SECRET = 'whsec_1'
const bytesOf = (text: string) => new TextEncoder().encode(text)
const BODY = bytesOf('{"id": "evt_1", "type": "contact.created"}')

/** The request of a signing: the body, and the values of the header. */
function makeRequest(signing: Signing, original: Uint8Array = BODY) {
  const { bytes, signedBytes } = spoil(signing, BODY, original)
  return { bytes, values: signAs(signing, signedBytes ?? bytes, SECRET) }
}

describe('a signing', () => {
  it.each(SIGNINGS)('%s: a receiver accepts the request only if it is valid', (signing) => {
    const { bytes, values } = makeRequest(signing, bytesOf('{"id":"original"}'))
    expect(values.length).toBe({ none: 0, 'two-headers': 2 }[signing as string] ?? 1)
    expect(verify(bytes, values[0] ?? null, SECRET) && values.length === 1).toBe(signing === 'valid')
  })

  it.each<[Signing, readonly string[] | RegExp]>([
    ['valid', [sign(BODY, SECRET)]],
    ['none', []],
    ['no-prefix', [sign(BODY, SECRET).slice(7)]],
    ['sha1', /^sha1=[0-9a-f]{40}$/],
    ['short', [sign(BODY, SECRET).slice(0, -2)]],
    ['long', /^sha256=[0-9a-f]{66}$/],
    ['non-hex', /^sha256=[0-9a-f]+g$/],
    ['wrong', /^sha256=[0-9a-f]{64}$/],
  ])('%s leaves the body unchanged, and its header is %s', (signing, header) => {
    const { bytes, values } = makeRequest(signing)
    expect(bytes).toEqual(BODY)
    if (header instanceof RegExp) expect(values[0]).toMatch(header)
    else expect(values).toEqual(header)
  })

  it('stale-bytes sends the edited body with the signature of the original one', () => {
    const original = bytesOf('{"id":"original"}')
    expect(makeRequest('stale-bytes', original)).toEqual({ bytes: BODY, values: [sign(original, SECRET)] })
  })

  it('flip-bit sends a body that differs in one bit from the signed one', () => {
    const { bytes, values } = makeRequest('flip-bit')
    const bits = [...bytes].map((byte, index) => (byte ^ (BODY[index] ?? 0)).toString(2).replaceAll('0', '').length)
    expect([bytes.length, bits.reduce((sum, count) => sum + count)]).toEqual([BODY.length, 1])
    expect(verify(BODY, values[0] ?? null, SECRET)).toBe(true)
  })

  it.each([
    ['another format', '{"a": [1, "x y"]}', '{"a":[1,"x y"]}'],
    ['the format of JSON.stringify', '{"a":1}', '{\n  "a": 1\n}\n'],
    ['no JSON', 'no JSON', 'no JSON\n'],
  ])('reserialised signs the same JSON in another format if the body has %s', (_what, text, signed) => {
    const { bytes, signedBytes } = spoil('reserialised', bytesOf(text), BODY)
    expect([new TextDecoder().decode(bytes), new TextDecoder().decode(signedBytes)]).toEqual([text, signed])
  })
})
