import { expect, it } from 'vitest'
import type { DeliveryAttempt } from '../../tools/emulator/delivery.ts'
import { newDelivery } from '../../tools/emulator/events.ts'
import { describeDelivery, describeMessage, describeRow } from '../../tools/emulator/http/describe.ts'
import { missAttempt } from '../../tools/emulator/make-attempt.ts'

const NOW = '2026-01-01T00:00:00.000Z'
const AT = Date.parse(NOW)
const WEBHOOK = {
  ...{ id: 'w1', accountKey: 'acme', url: 'http://localhost/', events: ['a.b'], description: 'mine', active: true },
  ...{ secret: 'whsec_1', createdAt: NOW },
}
const make = () => {
  const about = { id: 'd1', eventId: 'evt_1', eventType: 'a.b', createdAt: AT, bytes: new Uint8Array([1]) }
  return newDelivery(WEBHOOK, about)
}
const SHOWN = {
  ...{ id: 'd1', accountKey: 'acme', webhookId: 'w1', eventId: 'evt_1', eventType: 'a.b', status: 'pending' },
  ...{ isInFlight: false, signing: 'valid', createdAt: NOW, nextAttemptAt: NOW, attempts: [] },
}

it('an attempt is described in whole milliseconds, and its phases in tenths', () => {
  const missed = missAttempt(make(), AT)
  const sent: DeliveryAttempt = { ...missed, durationMs: 12.6, phases: { connectMs: 1.26, waitMs: 11.34 } }
  const { attempts } = Object(describeDelivery({ ...make(), attempts: [missed, sent] }))
  expect(attempts).toStrictEqual([
    { ...missed, at: NOW },
    { ...missed, at: NOW, durationMs: 13, phases: { connectMs: 1.3, waitMs: 11.3 } },
  ])
})

it('a message about an attempt has its times as text', () => {
  const attempt = missAttempt(make(), AT)
  const message = describeMessage({ type: 'attempt', delivery: make(), attempt })
  expect(message).toStrictEqual({ type: 'attempt', delivery: SHOWN, attempt: { ...attempt, at: NOW } })
})

it('a row has the plans, the origin and the note of a delivery, and neither body nor headers', () => {
  expect(describeRow({ ...make(), made: 3, change: 7, resendOf: 'd0', note: 'the webhook was deleted' })).toEqual({
    ...{
      id: 'd1',
      made: 3,
      change: 7,
      account: 'acme',
      webhook: 'w1',
      event: 'evt_1',
      type: 'a.b',
      status: 'pending',
      signing: 'valid',
    },
    ...{ resendOf: 'd0', note: 'the webhook was deleted', at: NOW, nextAt: NOW, attempts: 0, last: null },
  })
  expect(describeRow({ ...make(), made: 3, change: 7, nextAttemptAt: undefined })).toMatchObject({
    resendOf: null,
    note: null,
    nextAt: null,
  })
})

it.each<[string, Partial<DeliveryAttempt>, object]>([
  [
    'accepted',
    { status: 200, failure: undefined, responseBody: '{"code":"handled"}' },
    { result: '200', code: 'handled', isAcknowledged: true, at: NOW, ms: 13 },
  ],
  [
    'without an answer',
    { failure: 'timeout' },
    { result: 'timeout', code: null, isAcknowledged: false, at: NOW, ms: 13 },
  ],
])('a row has the result of the last attempt: %s', (_, fields, last) => {
  const missed = { ...missAttempt(make(), AT), durationMs: 12.6 }
  const failed: DeliveryAttempt = { ...missed, status: 500, failure: 'status', at: AT - 50 }
  expect(describeRow({ ...make(), made: 3, change: 7, attempts: [failed, { ...missed, ...fields }] })).toMatchObject({
    attempts: 2,
    last,
  })
})
