import { describe, expect, it } from 'vitest'
import { showDelivery, showList, showOne, showWebhook } from '../../tools/emulator/answers.ts'
import type { StoredDelivery } from '../../tools/emulator/delivery.ts'
import { assumeAll } from '../../tools/emulator/dialects.ts'
import { newDelivery } from '../../tools/emulator/events.ts'
import type { Webhook } from '../../tools/emulator/webhooks.ts'

const CREATED = '2026-01-01T00:00:00.000Z'
const AT = Date.parse(CREATED)
const WEBHOOK: Webhook = {
  id: 'w1',
  accountKey: 'acme',
  url: 'http://localhost/',
  events: ['contact.created'],
  description: undefined,
  active: true,
  secret: 'whsec_1',
  createdAt: CREATED,
}
const SHOWN = { url: 'http://localhost/', events: ['contact.created'], active: true, createdAt: CREATED }
const EXTRA = { __v: 0, _links: { self: null }, flags: ['beta'], owner: { id: 1 } }
const assuming = (assume: Readonly<Record<string, string>> = {}) => assumeAll('default', assume)

it.each([
  ['A05', 'id', { id: 'w1' }, {}],
  ['A05', 'both', { _id: 'w1', id: 'w1' }, {}],
  ['A03', 'plain', { _id: 'w1' }, {}],
  ['A03', 'webhook', { _id: 'w1' }, {}],
  ['A03', 'null-secret', { _id: 'w1' }, { secret: null }],
  ['A03', 'masked-secret', { _id: 'w1' }, { secret: '********' }],
  ['A03', 'extra-fields', { _id: 'w1' }, EXTRA],
])('a webhook in an answer has the assumed form, and its secret only if it is new: %s %s', (id, form, ids, added) => {
  const assumed = assuming({ [id]: form })
  const shown = { ...ids, ...SHOWN, ...added }
  expect(showWebhook(WEBHOOK, assumed, { isNew: false })).toEqual(shown)
  expect(showWebhook(WEBHOOK, assumed, { isNew: true })).toEqual({ ...ids, ...SHOWN, secret: 'whsec_1' })
  const isWrapped = ['data', 'webhook'].includes(form)
  expect(showOne(WEBHOOK, assumed)).toEqual(isWrapped ? { [form]: shown } : shown)
})

it.each([
  ['array', [[1]]],
  ['data', { data: [[1]] }],
  ['items', { items: [[1]], total: 5 }],
  ['named', { webhooks: [[1]] }],
  ['docs', { docs: [[1]], page: 2 }],
] as const)('a list of the form %s has a cursor, in an object, if more follows (A04)', (form, last) => {
  const page = { items: [[1]], total: 5, page: 2 }
  expect(showList('webhooks', form, { ...page, nextCursor: undefined })).toStrictEqual(last)
  const fields = form === 'array' ? { items: last } : last
  expect(showList('webhooks', form, { ...page, nextCursor: '1' })).toStrictEqual({ ...fields, nextCursor: '1' })
})

const BODY = new TextEncoder().encode('{"id":"evt_1"}')
const make = (fields: Partial<StoredDelivery> = {}): StoredDelivery => ({
  ...newDelivery(WEBHOOK, { id: 'd1', eventId: 'evt_1', eventType: 'contact.created', createdAt: AT, bytes: BODY }),
  ...fields,
})
const FAILED = {
  number: 1,
  url: 'http://localhost/',
  at: AT + 1_000,
  durationMs: 12.4,
  status: 500,
  failure: 'status' as const,
  error: 'the answer was 500',
  responseHeaders: {},
  responseBody: '',
}
const SUCCEEDED = {
  ...FAILED,
  number: 2,
  at: AT + 31_000,
  durationMs: 7.5,
  status: 200,
  failure: undefined,
  error: undefined,
}
const FRESH = {
  _id: 'd1',
  status: 'pending',
  webhookId: 'w1',
  attempts: 0,
  maxAttempts: 5,
  createdAt: CREATED,
  ...{
    lastAttemptAt: null,
    nextAttemptAt: CREATED,
    responseStatus: null,
    error: null,
    durationMs: null,
    attemptLog: [],
  },
}

describe('an entry of the delivery log', () => {
  it.each([
    ['full', { eventId: 'evt_1', eventType: 'contact.created' }],
    ['type', { eventId: 'evt_1', type: 'contact.created' }],
    ['embedded', { event: { id: 'evt_1' } }],
    ['extra-fields', { eventId: 'evt_1', eventType: 'contact.created', ...EXTRA }],
  ])('names its event as assumed: %s (A09)', (A09, event) => {
    expect(showDelivery(make(), assuming({ A09 }))).toEqual({ ...FRESH, ...event })
  })

  it('reports its attempts, and the result of the last one', () => {
    const attempts = [FAILED, SUCCEEDED]
    const entry = showDelivery(make({ attempts, status: 'success', nextAttemptAt: undefined }), assuming())
    expect(entry).toMatchObject({
      attempts: 2,
      lastAttemptAt: '2026-01-01T00:00:31.000Z',
      nextAttemptAt: null,
      responseStatus: 200,
      error: null,
      durationMs: 8,
    })
    expect(Object(entry).attemptLog).toEqual([
      {
        attempt: 1,
        at: '2026-01-01T00:00:01.000Z',
        durationMs: 12,
        responseStatus: 500,
        error: 'the answer was 500',
      },
      { attempt: 2, at: '2026-01-01T00:00:31.000Z', durationMs: 8, responseStatus: 200, error: null },
    ])
  })

  it('reports as its error the reason that ended it, then that of its last attempt', () => {
    expect(showDelivery(make({ attempts: [FAILED] }), assuming())).toMatchObject({ error: 'the answer was 500' })
    const ended = make({ attempts: [FAILED], note: 'the webhook was paused' })
    expect(showDelivery(ended, assuming())).toMatchObject({ error: 'the webhook was paused' })
  })

  it.each([
    ['pending', ['pending', 'pending', 'pending', 'success', 'failed']],
    ['upper', ['PENDING', 'PENDING', 'PENDING', 'SUCCESS', 'FAILED']],
    ['delivered', ['queued', 'attempting', 'retrying', 'delivered', 'failed']],
    ['succeeded', ['attempting', 'attempting', 'attempting', 'succeeded', 'failed']],
    ['unknown', ['parked', 'parked', 'parked', 'squared', 'failed']],
  ])('names its states in the words of %s (A10)', (A10, words) => {
    const attempts = [FAILED]
    const states = [
      {},
      { isInFlight: true, attempts },
      { attempts },
      { status: 'success' },
      { status: 'failed' },
    ] as const
    expect(states.map((state) => Object(showDelivery(make(state), assuming({ A10 }))).status)).toEqual(words)
  })
})
