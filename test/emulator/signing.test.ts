import { sign, verify } from 'postern'
import { describe, expect, it } from 'vitest'
import type { Signing } from '../../tools/emulator/delivery.ts'
import { signAs } from '../../tools/emulator/signing.ts'
import { SIGNINGS } from '../../tools/wire/signings.ts'

const SECRET = 'whsec_1'
const bytesOf = (text: string) => new TextEncoder().encode(text)
const BODY = bytesOf('{"id": "evt_1", "type": "contact.created"}')

describe('a signing', () => {
  it.each(Object.keys(SIGNINGS) as Signing[])('%s: a receiver accepts the request only if it is valid', (signing) => {
    const values = signAs(signing, BODY, bytesOf('{"id":"original"}'), SECRET)
    expect(values.length).toBe({ none: 0, 'two-headers': 2 }[signing as string] ?? 1)
    expect(verify(BODY, values[0] ?? null, SECRET) && values.length === 1).toBe(signing === 'valid')
  })

  it.each([
    ['another format', '{"a": [1, "x y"]}', '{"a":[1,"x y"]}'],
    ['the format of JSON.stringify', '{"a":1}', '{\n  "a": 1\n}\n'],
    ['no JSON', 'no JSON', 'no JSON\n'],
  ])('reserialised signs the same JSON in another format if the body has %s', (_what, text, signed) => {
    expect(signAs('reserialised', bytesOf(text), undefined, SECRET)).toEqual([sign(signed, SECRET)])
  })
})
