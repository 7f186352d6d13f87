import { sign } from 'postern'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import type { StoredDelivery } from '../../tools/emulator/delivery.ts'
import { assumeAll } from '../../tools/emulator/dialects.ts'
import { newDelivery } from '../../tools/emulator/events.ts'
import { Faults } from '../../tools/emulator/faults.ts'
import { createAttempts, missAttempt } from '../../tools/emulator/make-attempt.ts'
import { checkEmulatorOptions, type DeliveryFaults } from '../../tools/emulator/options.ts'
import { createRandom } from '../../tools/emulator/random.ts'
import type { Webhook } from '../../tools/emulator/webhooks.ts'
import { sink } from './support.ts'

const BODY = new TextEncoder().encode('{"id": "evt_1"}')
const webhookOf = (url: string): Webhook => ({
  id: 'w1',
  accountKey: 'acme',
  url,
  events: ['a.b'],
  description: undefined,
  active: true,
  secret: 'whsec_1',
  createdAt: '',
})
const deliveryTo = (url: string, fields: Partial<StoredDelivery> = {}): StoredDelivery => ({
  ...newDelivery(webhookOf(url), { id: 'd1', eventId: 'evt_1', eventType: 'a.b', createdAt: 0, bytes: BODY }),
  ...fields,
})

interface Options {
  readonly assume?: Readonly<Record<string, string>>
  readonly faults?: Partial<DeliveryFaults>
  readonly debugHeaders?: boolean
  readonly devToken?: string
}

/** Makes one attempt. Its stopwatch shows 1000, 1001, 1011 and 1111 ms, one after the other. */
async function attempt(delivery: StoredDelivery, url: string, options: Options = {}) {
  const { assume = {}, faults = {}, debugHeaders = false, devToken } = options
  const manual = manualClock('2026-01-01T00:00:00Z')
  const times = [1_000, 1_001, 1_011, 1_111]
  const clock = {
    now: () => manual.now(),
    monotonic: () => times.shift() ?? 2_111,
    setTimeout: (callback: () => void, ms: number) => manual.setTimeout(callback, ms),
    clearTimeout: (timer: unknown) => manual.clearTimeout(timer),
  }
  const none = { fail: 0, duplicate: 0, shuffle: false, latencyMs: undefined }
  const drawn = new Faults(createRandom('seed'), { ...none, ...faults })
  const assumed = assumeAll('default', assume)
  const { deadlineMs, signatureHeader } = checkEmulatorOptions({})
  const make = createAttempts({ clock, assumed, faults: drawn, deadlineMs, signatureHeader, debugHeaders, devToken })
  return make(delivery, webhookOf(url), new AbortController().signal)
}

const AT = Date.parse('2026-01-01T00:00:00Z')

describe('an attempt', () => {
  it('sends the body and what the service documents, and nothing else', async () => {
    const receiver = await sink()
    const { requestHeaders } = await attempt(deliveryTo(receiver.url), receiver.url)
    expect(requestHeaders?.flat()).toEqual(receiver.received[0]?.rawHeaders)
    const [{ rawHeaders, method, body } = { rawHeaders: [], method: '', body: undefined }] = receiver.received
    expect([method, body]).toEqual(['POST', Buffer.from(BODY)])
    expect(
      rawHeaders.filter((_, index) => index % 2 === 0 && !/^(host|connection)$/i.test(rawHeaders[index] ?? '')),
    ).toEqual(['Content-Type', 'Content-Length', 'User-Agent', 'X-Service-Signature'])
    expect(receiver.received[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': '15',
      'user-agent': 'postern-emulator',
      'x-service-signature': sign(BODY, 'whsec_1'),
    })
  })

  it('names the delivery in further headers if that was requested', async () => {
    const receiver = await sink()
    const [made] = [missAttempt(deliveryTo(receiver.url), 0)]
    await attempt(deliveryTo(receiver.url, { attempts: [made] }), receiver.url, {
      debugHeaders: true,
      devToken: 'a-token-of-postern-dev',
    })
    expect(receiver.received[0]?.headers).toMatchObject({
      'x-postern-dev': 'a-token-of-postern-dev',
      'x-emulator-delivery': 'd1',
      'x-emulator-webhook': 'w1',
      'x-emulator-attempt': '2',
    })
  })

  it('is signed wrongly if that was requested', async () => {
    const receiver = await sink()
    await attempt(deliveryTo(receiver.url, { signing: 'none' }), receiver.url)
    const signedBytes = new Uint8Array([1])
    await attempt(deliveryTo(receiver.url, { signing: 'stale-bytes', signedBytes }), receiver.url)
    const values = receiver.received.map(({ headers }) => headers['x-service-signature'])
    expect(values).toEqual([undefined, sign(signedBytes, 'whsec_1')])
  })

  it.each([
    ['new', [0, 1]],
    ['old', [1, 0]],
  ])('goes to the %s URL if it was changed (A34)', async (A34, counts) => {
    const [old, changed] = [await sink(), await sink()]
    const made = await attempt(deliveryTo(old.url), changed.url, { assume: { A34 } })
    expect([old.received.length, changed.received.length]).toEqual(counts)
    expect(made.url).toBe(A34 === 'new' ? changed.url : old.url)
  })

  it('is recorded with its times, and the time of each phase', async () => {
    const receiver = await sink()
    const made = await attempt(deliveryTo(receiver.url), receiver.url)
    expect(made).toMatchObject({
      number: 1,
      url: receiver.url,
      at: AT,
      durationMs: 111,
      status: 200,
      failure: undefined,
      phases: { connectMs: 1, waitMs: 10, bodyMs: 100 },
    })
  })

  it('that fails before it is sent is recorded as such', async () => {
    const receiver = await sink()
    const made = await attempt(deliveryTo(receiver.url), receiver.url, { faults: { fail: 1 } })
    expect(made).toEqual({
      number: 1,
      url: receiver.url,
      at: AT,
      durationMs: 0,
      status: undefined,
      failure: 'reset',
      error: 'dropped by the fault "fail" of the emulator, before it was sent',
      responseHeaders: {},
      responseBody: '',
    })
    expect(receiver.received).toEqual([])
  })

  it('is sent twice by the fault, and the first answer counts', async () => {
    const receiver = await sink(Date, 500)
    const made = await attempt(deliveryTo(receiver.url), receiver.url, { faults: { duplicate: 1 } })
    expect(made).toMatchObject({ number: 1, status: 500 })
    expect(receiver.received.map(({ body }) => body)).toEqual([Buffer.from(BODY), Buffer.from(BODY)])
  })
})
