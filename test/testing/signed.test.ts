import fc from 'fast-check'
import { createReceiver, verify } from 'postern'
import { type BodyFormat, events, signed, silentLogger, type Tamper } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { runs } from '../support/runs.ts'

const SECRET = 'whsec_1'
const FORMATS: readonly BodyFormat[] = ['compact', 'spaced', 'pretty', 'escaped', 'random']
/** Each tamper with the code by which its delivery must be refused. */
const TAMPERS: Readonly<Record<Exclude<Tamper, 'none'>, string>> = {
  'flip-bit': 'signature_mismatch',
  'other-secret': 'signature_mismatch',
  'no-header': 'signature_missing',
  'no-prefix': 'signature_malformed',
  sha1: 'signature_malformed',
  short: 'signature_malformed',
  long: 'signature_malformed',
  'non-hex': 'signature_malformed',
  reserialised: 'signature_mismatch',
  'two-headers': 'signature_malformed',
}
const tampers = Object.entries(TAMPERS) as [Exclude<Tamper, 'none'>, string][] // its own keys
const textOf = (bytes: Uint8Array) => new TextDecoder('utf-8', { fatal: true }).decode(bytes)

describe('signed', () => {
  it.each(FORMATS)('returns body, headers and signature that belong together, written %s', (format) => {
    const event = events.contact.created()
    const { body, headers, signature } = signed(event, { secret: SECRET, format })
    expect(verify(body, signature, SECRET)).toBe(true)
    expect(headers).toEqual({ 'content-type': 'application/json', 'x-service-signature': signature })
    const { model: _model, action: _action, ...sent } = event
    expect(JSON.parse(textOf(body))).toEqual(sent)
  })

  it('writes spaced by default, which no receiver can make again from the parsed event', () => {
    const { body, signature } = signed(events.syncCompleted(), { secret: SECRET })
    expect(verify(JSON.stringify(JSON.parse(textOf(body))), signature, SECRET)).toBe(false)
  })

  it('writes at random by the seed, and one event in one way without a seed', () => {
    const event = events.contact.created({ email: 'ž/a@example.test' })
    const write = (seed?: number) =>
      textOf(signed(event, { secret: SECRET, format: 'random', ...(seed !== undefined && { seed }) }).body)
    expect(write(1)).toBe(write(1))
    expect(write()).toBe(write())
    const texts = Array.from({ length: 50 }, (_, seed) => write(seed))
    expect(new Set(texts).size).toBe(50)
    for (const text of texts) expect(text).not.toBe(JSON.stringify(JSON.parse(text)))
    for (const written of [/\n/, /\t/, /\r/, / :/, /\\\//, /[^\\]\//, /\\u017e/, /ž/])
      expect(texts.some((text) => written.test(text))).toBe(true)
  })

  it('writes any data so that it parses back unchanged', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()),
        fc.constantFrom(...FORMATS),
        (data, format) => {
          const event = events.raw('invoice.paid', data)
          const { body, signature } = signed(event, { secret: SECRET, format })
          expect(JSON.parse(textOf(body))).toEqual(JSON.parse(JSON.stringify(event)))
          expect(verify(body, signature, SECRET)).toBe(true)
        },
      ),
      runs(50),
    )
  })

  it.each<[string, string | Uint8Array]>([
    ['text', '{"id":  "žluť"}'],
    ['no text', ''],
    ['bytes', new Uint8Array([0xff, 0x00, 0xfe])],
    ['a buffer', Buffer.from('{}')],
  ])('signs raw %s unchanged', (_what, raw) => {
    for (const format of FORMATS) {
      const { body, signature } = signed(raw, { secret: SECRET, format })
      expect(Buffer.from(body)).toEqual(Buffer.from(raw))
      expect(verify(raw, signature, SECRET)).toBe(true)
    }
  })
})

describe('a tampered delivery', () => {
  const EVERY_EVENT = [events.contact.created(), events.raw('sync.failed', { text: '🐎/ž' })]

  describe.each(tampers)('by %s', (tamper, code) => {
    it.each(FORMATS)(`is refused with ${code}, written %s`, async (format) => {
      for (const event of EVERY_EVENT) {
        const { body, signature } = signed(event, { secret: SECRET, format, tamper })
        expect(verify(body, signature, SECRET)).toBe(false)
        let handled = 0
        const receiver = createReceiver({ secret: SECRET, logger: silentLogger }).on('*', () => handled++)
        expect(await receiver.receive({ body, signature })).toMatchObject({
          outcome: 'rejected',
          code,
          status: 401,
        })
        expect(handled).toBe(0)
      }
    })

    it('is the same delivery apart from that', () => {
      const event = events.contact.created()
      const [good, bad] = [signed(event, { secret: SECRET }), signed(event, { secret: SECRET, tamper })]
      const bits = (byte: number) => byte.toString(2).replaceAll('0', '').length
      const changed = bad.body.reduce((sum, byte, index) => sum + bits(byte ^ (good.body[index] ?? 0)), 0)
      expect(changed).toBe(tamper === 'flip-bit' ? 1 : 0)
      expect(bad.body.length).toBe(good.body.length)
      if (tamper === 'flip-bit') expect(bad.headers).toEqual(good.headers)
      else expect(bad.headers).not.toEqual(good.headers)
      if (tamper === 'no-header') expect(bad.headers).toEqual({ 'content-type': 'application/json' })
    })
  })

  it('holds against the secret that it claims to be signed by', () => {
    const { body, signature } = signed(events.syncCompleted(), { secret: SECRET, tamper: 'other-secret' })
    expect(verify(body, signature, 'a secret that the receiver does not have')).toBe(true)
  })

  it.each(['{"id":"evt_1"}', new Uint8Array([1])])('by reserialised cannot be made of %j, and reports it', (raw) => {
    expect(() => signed(raw, { secret: SECRET, tamper: 'reserialised' })).toThrow(/"reserialised" needs an event/)
  })
})

it('request() returns a Fetch request of the same bytes and headers, as often as wanted', async () => {
  const delivery = signed(events.contact.created(), { secret: SECRET })
  for (const url of [undefined, 'http://localhost/hooks/acme?x=1']) {
    const request = delivery.request(url)
    expect([request.method, request.url]).toEqual(['POST', url ?? 'http://localhost/webhooks'])
    expect(Object.fromEntries(request.headers)).toMatchObject(delivery.headers)
    expect(Buffer.from(await request.arrayBuffer())).toEqual(delivery.body)
  }
})
