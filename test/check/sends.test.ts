import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { TestDelivery } from '../../tools/check/case.ts'
import { CASES, type GroupedCase } from '../../tools/check/cases.ts'
import { createMaker } from '../../tools/check/maker.ts'
import { SECRET } from './faulty/hand-written.ts'

const make = createMaker({ secret: SECRET, accountKey: 'acme' })
const sign = (body: Uint8Array | string, algorithm = 'sha256') =>
  createHmac(algorithm, SECRET).update(body).digest('hex')
const rightOf = (body: Uint8Array | string) => `sha256=${sign(body)}`
const WRONG = `sha256=${'0'.repeat(64)}`

/** Returns the delivery of a check, its body as text, and the right signature for that body. */
function sentBy(id: string) {
  const single = CASES.find(
    (each): each is Extract<GroupedCase, { deliver: unknown }> => each.id === id && 'deliver' in each,
  )
  if (single === undefined) throw new Error(`${id} does not send one delivery`)
  const delivery: TestDelivery = single.deliver(make)
  const text = Buffer.from(delivery.body).toString()
  return { ...delivery, text, right: rightOf(delivery.body) }
}

/** The event in a delivery that is as the service sends it, apart from what the check is about. */
function eventOf(id: string) {
  const { text, right, signatures, signatureName, method, contentEncoding } = sentBy(id)
  expect({ signatures, signatureName, method, contentEncoding }).toEqual({
    signatures: [right],
    signatureName: 'X-Service-Signature',
    method: 'POST',
    contentEncoding: undefined,
  })
  return JSON.parse(text)
}

const PLAIN = {
  id: expect.stringMatching(/^evt_chk_/),
  type: 'contact.created',
  timestamp: expect.stringMatching(/^\d{4}-.*T.*Z$/),
  accountKey: 'acme',
  data: { record: { ...make.contact(), _id: expect.any(String), email: expect.any(String) } },
}
const withRecord = (changes: object) => ({ ...PLAIN, data: { record: { ...PLAIN.data.record, ...changes } } })

describe('a genuine event', () => {
  it.each<readonly [id: string, event: object]>([
    ['bytes-escaped-slashes', { ...PLAIN, note: 'https://example.test/a/b' }],
    ['bytes-escaped-unicode', { ...PLAIN, note: 'Zoë, 東京' }],
    ['bytes-pretty', PLAIN],
    ['bytes-line-ends', PLAIN],
    ['bytes-compact', PLAIN],
    ['bytes-duplicate-keys', { ...PLAIN, note: 'second' }],
  ])('is sent by %s', (id, event) => {
    expect(eventOf(id)).toEqual(event)
  })

  it.each<readonly [id: string, minutes: number]>([
    ['late-retry', -157.2],
    ['timestamp-no-fraction', 0],
    ['timestamp-offset', 0],
    ['timestamp-ahead', 5 / 60],
  ])('is sent by %s with a timestamp %d minutes from now', (id, minutes) => {
    const age = (Date.parse(eventOf(id).timestamp) - Date.now()) / 60_000
    expect(Math.abs(age - minutes)).toBeLessThan(0.05)
  })

  it.each<readonly [id: string, form: RegExp]>([
    ['bytes-escaped-slashes', /"https:\\\/\\\/example/],
    ['bytes-escaped-unicode', /^[ -~]*"note": "Zo\\u00eb, \\u6771\\u4eac"[ -~]*$/],
    ['bytes-compact', /^\{"id":"[^ ]*\}$/],
    ['bytes-duplicate-keys', /^\{"note": "first", "id": .*"note": "second"\}$/],
  ])('is written by %s in its own form', (id, form) => {
    expect(sentBy(id).text).toMatch(form)
  })
})

describe('a delivery to be refused', () => {
  it.each<readonly [id: string, toSignatures: (right: string, body: Uint8Array) => readonly string[]]>([
    ['signature-sha1', (_, body) => [`sha1=${sign(body, 'sha1')}`]],
    ['signature-hex-case', (right) => [`sha256=${right.slice(7).toUpperCase()}`]],
    ['signature-non-ascii', (right) => [`${right.slice(0, 70)}é`]],
  ])('is a genuine event with another signature: %s', (id, toSignatures) => {
    const { text, body, right, signatures } = sentBy(id)
    expect(JSON.parse(text)).toEqual(PLAIN)
    expect(signatures).toEqual(toSignatures(right, body))
  })

  it('has a signature of the right form that belongs to another secret', () => {
    const { text, right, signatures } = sentBy('signature-other-secret')
    expect(JSON.parse(text)).toEqual(PLAIN)
    expect(signatures).toEqual([expect.stringMatching(/^sha256=[0-9a-f]{64}$/)])
    expect([WRONG, right]).not.toContain(signatures[0])
  })

  it('is one bit from the signed event, and still an event', () => {
    const { body, text, signatures } = sentBy('signature-bit-flipped')
    expect(JSON.parse(text)).toEqual(withRecord({ status: expect.any(String) }))
    const flips = [...body.keys()].flatMap((at) =>
      [1, 2, 4, 8, 16, 32, 64, 128].map((bit) => {
        const bytes = Uint8Array.from(body)
        bytes[at] = (bytes[at] ?? 0) ^ bit
        return rightOf(bytes)
      }),
    )
    expect(flips).toContain(signatures[0])
  })
})
