import { createHmac } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { TestDelivery } from '../../src/check/case.ts'
import { CASES, type GroupedCase } from '../../src/check/cases.ts'
import { createMaker } from '../../src/check/maker.ts'
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
    ...{ signatures: [right], signatureName: 'X-Service-Signature', method: 'POST', contentEncoding: undefined },
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
    ['accepts-valid', PLAIN],
    ['alive-after-all', PLAIN],
    ['bytes-escaped-slashes', { ...PLAIN, note: 'https://example.test/a/b' }],
    ['bytes-escaped-unicode', { ...PLAIN, note: 'Zoë, 東京' }],
    ['bytes-pretty', PLAIN],
    ['bytes-line-ends', PLAIN],
    ['bytes-compact', PLAIN],
    ['bytes-number-forms', { ...PLAIN, numbers: [150, 10, -0] }],
    ['bytes-key-order', PLAIN],
    ['bytes-four-byte-characters', withRecord({ lastName: '東京 🚪' })],
    ['bytes-split-characters', { ...PLAIN, note: 'ë東🚪'.repeat(25) }],
    ['bytes-charset', PLAIN],
    ['bytes-duplicate-keys', { ...PLAIN, note: 'second' }],
    ['bytes-chunked', PLAIN],
    ['unknown-type', { ...PLAIN, type: 'check.unheard.of', data: {} }],
    ['unknown-model', { ...PLAIN, type: 'checkThing.created', data: { record: { _id: expect.any(String) } } }],
    ['finance-payment-completed', { ...PLAIN, type: 'finance.payment.completed', data: { note: expect.any(String) } }],
    ['sync-failed', { ...PLAIN, type: 'sync.failed', data: { note: expect.any(String) } }],
    [
      'extra-fields',
      { ...PLAIN, version: 2, data: { ...withRecord({ tags: ['a'], owner: null }).data, previous: {} } },
    ],
    ['data-missing', { ...PLAIN, type: 'export.completed', data: undefined }],
    ['id-long', { ...PLAIN, id: expect.stringMatching(/^evt_chk_[0-9a-f]{10}_\d+_x+$/) }],
    ['unknown-account', { ...PLAIN, accountKey: 'check-unheard-of' }],
    ['deleted-before-created', { ...PLAIN, type: 'contact.deleted', data: { record: { _id: expect.any(String) } } }],
    ['updated-before-created', { ...PLAIN, type: 'contact.updated' }],
    ['text-quotes', withRecord({ lastName: `O'Brien "x" \\ % $1 {} <b> --` })],
    ['text-empty', withRecord({ lastName: '', email: '' })],
    ['text-long', withRecord({ lastName: 'x'.repeat(2_000) })],
    ['text-null-character', withRecord({ lastName: 'a\u0000b' })],
    ['text-half-character', withRecord({ lastName: 'a\ud83d' })],
    ['unknown-status', withRecord({ status: 'check' })],
    ['record-id-form', withRecord({ _id: expect.stringMatching(/^check-[0-9a-f]{24}$/) })],
    ['late-retry', PLAIN],
    ['timestamp-no-fraction', { ...PLAIN, timestamp: expect.stringMatching(/T\d\d:\d\d:\d\dZ$/) }],
    ['timestamp-offset', { ...PLAIN, timestamp: expect.stringMatching(/T\d\d:\d\d:\d\d\.\d{3}\+02:00$/) }],
    ['timestamp-ahead', PLAIN],
    ['large-body', { ...PLAIN, note: 'x'.repeat(262_144) }],
    ['huge-body', { ...PLAIN, note: 'x'.repeat(2_097_152) }],
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
    ['bytes-pretty', /^\{\n {2}"id": .*\n\}\n$/s],
    ['bytes-line-ends', /^\{(\r\n[^\r\n]+)+\r\n\}$/],
    ['bytes-compact', /^\{"id":"[^ ]*\}$/],
    ['bytes-number-forms', /, "numbers": \[1\.50e2, 10\.0, -0\]\}$/],
    ['bytes-key-order', /^\{"data": .*"timestamp": .*"accountKey": .*"type": .*"id": "[^"]*"\}$/],
    ['bytes-four-byte-characters', /"東京 🚪"/],
    ['bytes-duplicate-keys', /^\{"note": "first", "id": .*"note": "second"\}$/],
    ['data-missing', /"accountKey": "acme"\}$/],
    ['text-half-character', /a\\ud83d"/],
  ])('is written by %s in its own form', (id, form) => {
    expect(sentBy(id).text).toMatch(form)
  })

  it('has an id of 200 characters for id-long', () => {
    expect(eventOf('id-long').id).toHaveLength(200)
  })

  it.each<readonly [id: string, head: Partial<TestDelivery>]>([
    ['bytes-split-characters', { pieceSize: 25, isChunked: false }],
    ['bytes-charset', { contentType: 'application/json; charset=utf-8' }],
    ['bytes-chunked', { isChunked: true }],
    ['header-lower-case', { signatureName: 'x-service-signature' }],
  ])('is sent by %s with its own head', (id, head) => {
    const sent = sentBy(id)
    expect(sent).toMatchObject({ ...head, signatures: [sent.right] })
  })

  it.each([
    ['signed-not-json', '{"id": "evt_chk_'],
    ['signed-empty', ''],
    ['signed-null', 'null'],
  ])('is none in %s, which is signed', (id, body) => {
    expect(sentBy(id)).toMatchObject({ text: body, signatures: [rightOf(body)] })
  })
})

describe('a delivery to be refused', () => {
  it.each<readonly [id: string, toSignatures: (right: string, body: Uint8Array) => readonly string[]]>([
    ['signature-missing', () => []],
    ['signature-text', () => [WRONG]],
    ['signature-sha1', (_, body) => [`sha1=${sign(body, 'sha1')}`]],
    ['signature-empty', () => ['']],
    ['signature-short', (right) => [right.slice(0, 69)]],
    ['signature-non-ascii', (right) => [`${right.slice(0, 70)}é`]],
    ['signature-tail', (right) => [`${right}zz`]],
    ['signature-list', (right) => [`${right},v1=${right.slice(7)}`]],
    ['signature-right-first', (right) => [right, WRONG]],
    ['signature-right-last', (right) => [WRONG, right]],
    ['signature-no-prefix', (right) => [right.slice(7)]],
    ['signature-other-prefix', (right) => [right.replace('sha256=', 'md5=')]],
    ['signature-hex-case', (right) => [`sha256=${right.slice(7).toUpperCase()}`]],
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

  it('is signed as the same JSON without spaces', () => {
    const { text, right, signatures } = sentBy('signature-reserialised')
    expect(JSON.parse(text)).toEqual(PLAIN)
    expect(signatures).toEqual([rightOf(JSON.stringify(JSON.parse(text)))])
    expect(signatures).not.toEqual([right])
  })

  it('is signed as the text that its bytes decode to, but is not that text', () => {
    const { body, text, signatures } = sentBy('signature-replaced-byte')
    expect([...body].filter((byte) => byte === 0xff)).toHaveLength(1)
    expect(JSON.parse(text)).toEqual({ ...PLAIN, note: '\ufffd' })
    expect(signatures).toEqual([rightOf(text)])
  })

  it('is signed without the byte order mark in front of it', () => {
    const { body, signatures } = sentBy('signature-byte-order-mark')
    expect(body.subarray(0, 3)).toEqual(Buffer.of(0xef, 0xbb, 0xbf))
    expect(JSON.parse(Buffer.from(body.subarray(3)).toString())).toEqual(PLAIN)
    expect(signatures).toEqual([rightOf(body.subarray(3))])
  })

  it('is compressed after it was signed', () => {
    const { body, signatures, contentEncoding } = sentBy('gzip-after-signing')
    expect(contentEncoding).toBe('gzip')
    expect(JSON.parse(gunzipSync(body).toString())).toEqual(PLAIN)
    expect(signatures).toEqual([rightOf(gunzipSync(body))])
  })

  it('has another content type, and a wrong signature', () => {
    expect(sentBy('signature-text').contentType).toBe('text/plain')
    expect(sentBy('signature-put')).toMatchObject({ method: 'PUT', signatures: [WRONG] })
    expect(sentBy('signature-chunked')).toMatchObject({ isChunked: true, signatures: [WRONG] })
  })

  it('is null, or a GET without anything', () => {
    expect(sentBy('signature-null')).toMatchObject({ text: 'null', signatures: [WRONG] })
    expect(sentBy('get-not-2xx')).toMatchObject({ method: 'GET', text: '', signatures: [] })
  })
})
