import { verify } from 'postern'
import { describe, expect, it } from 'vitest'
import type { Signing } from '../../tools/emulator/delivery.ts'
import { signAs, spoil } from '../../tools/emulator/signing.ts'
import { SIGNINGS } from '../../tools/wire/signings.ts'

const SECRET = 'whsec_1'
const bytesOf = (text: string) => new TextEncoder().encode(text)
const BODY = bytesOf('{"id": "evt_1", "type": "contact.created"}')

/** The request of a signing: the body, and the values of the header. */
function makeRequest(signing: Signing, original: Uint8Array = BODY) {
  const { bytes, signedBytes } = spoil(signing, BODY, original)
  return { bytes, values: signAs(signing, signedBytes ?? bytes, SECRET) }
}

describe('a signing', () => {
  it.each(Object.keys(SIGNINGS) as Signing[])('%s: a receiver accepts the request only if it is valid', (signing) => {
    const { bytes, values } = makeRequest(signing, bytesOf('{"id":"original"}'))
    expect(values.length).toBe({ none: 0, 'two-headers': 2 }[signing as string] ?? 1)
    expect(verify(bytes, values[0] ?? null, SECRET) && values.length === 1).toBe(signing === 'valid')
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
