import { createHmac } from 'node:crypto'
import { verify } from 'postern'
import { describe, expect, it } from 'vitest'
import { flipBit, type SignatureFault, spoilSignature } from '../../tools/wire/signature-mistakes.ts'

const SECRET = 'whsec_spoil'
const body = Buffer.from('{"id":"evt_1"}')
const digest = createHmac('sha256', SECRET).update(body).digest('hex')

describe('spoilSignature', () => {
  it.each<[SignatureFault, readonly (string | RegExp)[]]>([
    ['other-secret', [/^sha256=[0-9a-f]{64}$/]],
    ['two-headers', [`sha256=${digest}`, /^sha256=[0-9a-f]{64}$/]],
    ['no-prefix', [digest]],
    ['sha1', [`sha1=${createHmac('sha1', SECRET).update(body).digest('hex')}`]],
    ['short', [`sha256=${digest.slice(0, 62)}`]],
    ['long', [`sha256=${digest}00`]],
    ['non-hex', [`sha256=${digest.slice(0, 63)}g`]],
  ])('makes the fault %s, which no receiver accepts', (fault, values) => {
    const spoilt = spoilSignature(fault, body, SECRET)
    expect(spoilt).toEqual(values.map((value) => (typeof value === 'string' ? value : expect.stringMatching(value))))
    expect(verify(body, [...spoilt], SECRET)).toBe(false)
  })
})

describe('flipBit', () => {
  it('changes one bit of the middle byte, and leaves the body as it is', () => {
    expect(Buffer.from(flipBit(Buffer.from('abcde'))).toString()).toBe('abbde')
    expect(Buffer.from(flipBit(Buffer.from('abbde'))).toString()).toBe('abcde')
    const sent = Buffer.from('ab')
    flipBit(sent)
    expect(sent.toString()).toBe('ab')
  })

  it('leaves an empty body empty', () => {
    expect(flipBit(new Uint8Array())).toHaveLength(0)
  })
})
