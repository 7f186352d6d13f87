import { expect, it } from 'vitest'
import type { Delivery, DeliveryAttempt } from '../../src/emulator/delivery.ts'
import { toRow } from '../../src/emulator/inspector/rows.ts'

const attempt: DeliveryAttempt = {
  ...{ number: 1, url: 'http://localhost/', at: 500, durationMs: 12.6, status: 200, failure: undefined },
  ...{ error: undefined, responseHeaders: { server: 'secret' }, responseBody: '{"code":"handled"}' },
}

const delivery: Delivery = {
  ...{ id: 'd1', accountKey: 'acme', webhookId: 'w1', eventId: 'evt_1', eventType: 'sync.failed', createdAt: 400 },
  ...{ status: 'pending', attempts: [], nextAttemptAt: undefined, isInFlight: false, signing: 'valid' },
  ...{ resendOf: undefined, note: undefined },
}

it('a delivery without an attempt has a row without a last result', () => {
  expect(toRow(delivery)).toEqual({
    ...{ id: 'd1', account: 'acme', webhook: 'w1', event: 'evt_1', type: 'sync.failed', status: 'pending' },
    ...{ signing: 'valid', resendOf: null, note: null, at: 400, nextAt: null, attempts: 0, last: null },
  })
})

it('the row of a delivery has its plans, its origin and its note', () => {
  const planned = { ...delivery, nextAttemptAt: 900, resendOf: 'd0', note: 'the webhook was deleted' }
  expect(toRow(planned)).toMatchObject({ nextAt: 900, resendOf: 'd0', note: 'the webhook was deleted' })
})

it.each<[string, Partial<DeliveryAttempt>, object]>([
  ['accepted', {}, { result: '200', code: 'handled', isAcknowledged: true, at: 500, ms: 13 }],
  [
    'refused by its status',
    { status: 401, failure: 'status', responseBody: 'no' },
    { result: '401', code: null, isAcknowledged: false, at: 500, ms: 13 },
  ],
  [
    'without an answer',
    { status: undefined, failure: 'timeout', responseBody: '', durationMs: 10_000 },
    { result: 'timeout', code: null, isAcknowledged: false, at: 500, ms: 10_000 },
  ],
])('the row of a delivery has the result of its last attempt: %s', (_, fields, last) => {
  const failed: DeliveryAttempt = { ...attempt, status: 500, failure: 'status', at: 450 }
  expect(toRow({ ...delivery, attempts: [failed, { ...attempt, ...fields }] })).toMatchObject({ attempts: 2, last })
})
