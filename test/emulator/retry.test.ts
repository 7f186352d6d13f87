import type { EmulatorOptions } from 'postern/emulator'
import { describe, expect, it } from 'vitest'
import type { StoredDelivery } from '../../tools/emulator/delivery.ts'
import type { FeedMessage } from '../../tools/emulator/feed.ts'
import { missAttempt } from '../../tools/emulator/make-attempt.ts'
import { makeService, refusal } from './support.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes)

/** A service with a paused webhook, so that deliveries stay pending until a test changes them. */
function make(options: EmulatorOptions = {}) {
  const { assume, ...rest } = options
  const service = makeService({ ...rest, assume: { A31: 'kept', ...assume } })
  const { log, events, webhooks, feed } = service
  const fields = { url: 'http://127.0.0.1:1/', events: ['a.b'], active: false }
  const webhookId = webhooks.create('acme', fields).id
  const emit = (): StoredDelivery => {
    const [{ deliveries } = { deliveries: [''] }] = events.emit('acme', { type: 'a.b', data: {}, id: 'evt_1' })
    return service.deliveries.get(deliveries[0] ?? '')
  }
  const fail = (delivery: StoredDelivery) => {
    log.update([delivery], { status: 'failed', nextAttemptAt: undefined, note: 'it failed', remaining: 0 })
    return delivery
  }
  const messages: FeedMessage[] = []
  feed.subscribe((message) => messages.push(message))
  return { ...service, webhookId, fields, emit, fail, messages }
}

describe('a manual retry', () => {
  it.each([
    ['one', 1],
    ['schedule', 5],
  ])(
    'makes a failed delivery pending again, with the number of attempts that is assumed: %s (A13)',
    async (A13, remaining) => {
      const { deliveries, clock, webhooks, webhookId, emit, fail, messages, engine } = make({
        assume: { A13 } as object,
      })
      const delivery = fail(emit())
      await clock.advance('1h')
      messages.splice(0)
      const before = textOf(delivery.bytes)
      expect(deliveries.retry('acme', webhookId, delivery.id)).toBe(delivery)
      expect(delivery).toMatchObject({
        status: 'pending',
        note: undefined,
        remaining,
        nextAttemptAt: clock.now(),
        createdAt: clock.now() - 3_600_000,
      })
      expect(textOf(delivery.bytes)).toBe(before)
      expect(messages).toEqual([{ type: 'delivery', delivery }])
      expect(engine.inFlight).toBe(0)
      webhooks.update('acme', webhookId, { active: true })
      engine.resume()
      expect(delivery.isInFlight).toBe(true)
    },
  )

  it('is refused for a delivery of another webhook, account or none', () => {
    const { deliveries, webhooks, fields, webhookId, emit, fail } = make()
    const delivery = fail(emit())
    const other = webhooks.create('acme', { ...fields, events: ['b.c'] }).id
    const foreign = webhooks.create('globex', fields).id
    for (const [accountKey, id, deliveryId, kind] of [
      ['acme', webhookId, 'x', 'unknown'],
      ['acme', other, delivery.id, 'unknown'],
      ['acme', 'x', delivery.id, 'unknown'],
      ['globex', webhookId, delivery.id, 'of-another-account'],
      ['globex', foreign, delivery.id, 'unknown'],
    ] as const)
      expect(() => deliveries.retry(accountKey, id, deliveryId)).toThrow(refusal(kind))
    expect(() => deliveries.retry('acme', other, delivery.id)).toThrow('there is no such delivery')
    expect(delivery.status).toBe('failed')
  })

  it.each(['pending', 'success'] as const)(
    'of a delivery that is %s is refused, unless that is assumed (A14)',
    (status) => {
      const { deliveries, log, webhookId, emit } = make()
      const delivery = emit()
      log.update([delivery], { status, nextAttemptAt: delivery.nextAttemptAt })
      const retry = () => deliveries.retry('acme', webhookId, delivery.id)
      expect(retry).toThrow(refusal('not-failed', `it is ${status}`))
      const lax = make({ assume: { A14: 'accepted' } })
      const accepted = lax.emit()
      lax.log.update([accepted], { status, nextAttemptAt: accepted.nextAttemptAt })
      expect(lax.deliveries.retry('acme', lax.webhookId, accepted.id)).toMatchObject({
        status: 'pending',
        remaining: 1,
      })
    },
  )

  it('of a delivery whose attempt is in progress is refused in any case', () => {
    const { deliveries, webhookId, emit } = make({ assume: { A14: 'accepted' } })
    const delivery = Object.assign(emit(), { isInFlight: true })
    expect(() => deliveries.retry('acme', webhookId, delivery.id)).toThrow(refusal('not-failed', 'it is pending'))
  })

  it('is refused while pending deliveries and their answers fill the log, unless it is pending already', () => {
    const { deliveries, webhookId, emit, fail, log } = make({ assume: { A14: 'accepted' } })
    const [failed, waiting] = [fail(emit()), emit()]
    const answerWith = (size: number) => {
      const attempt = { ...missAttempt(waiting, { url: '' }, 0), responseBody: ' '.repeat(size) }
      log.update([waiting], { status: 'pending', nextAttemptAt: 0, attempts: [attempt] })
    }
    const room = 256 * 2 ** 20 - waiting.bytes.length - failed.bytes.length
    answerWith(room + 1)
    expect(() => deliveries.retry('acme', webhookId, failed.id)).toThrow(refusal('full'))
    expect(() => deliveries.resend(failed.id)).toThrow(refusal('full'))
    expect(deliveries.retry('acme', webhookId, waiting.id)).toBe(waiting)
    expect([failed.status, log.size]).toEqual(['failed', 2])
    answerWith(room)
    expect(deliveries.retry('acme', webhookId, failed.id).status).toBe('pending')
  })

  it('sends the same event with the time of the retry if that is assumed (A15)', async () => {
    const { deliveries, clock, webhookId, emit, fail } = make({ assume: { A15: 'new-timestamp' } })
    const delivery = fail(emit())
    const before = JSON.parse(textOf(delivery.bytes))
    await clock.advance('1h')
    deliveries.retry('acme', webhookId, delivery.id)
    const timestamp = new Date(clock.now()).toISOString()
    expect(JSON.parse(textOf(delivery.bytes))).toEqual({ ...before, timestamp })
    expect(textOf(delivery.bytes)).toBe(JSON.stringify({ ...before, timestamp }))
  })

  it.each(['no JSON', '[1]', 'null'])('leaves a body that is no object as it is (A15): %s', (body) => {
    const { deliveries, webhookId, emit, fail } = make({ assume: { A15: 'new-timestamp' } })
    const edited = deliveries.resend(emit().id, { body })
    fail(edited as StoredDelivery) // the log's own object
    expect(textOf(deliveries.retry('acme', webhookId, edited.id).bytes)).toBe(body)
  })
})

describe('a resent delivery', () => {
  it('has the bytes of the original, one attempt, and an id of its own', () => {
    const { deliveries, emit, messages, clock, log, webhooks, webhookId, engine } = make()
    const original = emit()
    messages.splice(0)
    const resent = deliveries.resend(original.id)
    expect(resent).toMatchObject({
      resendOf: original.id,
      webhookId: original.webhookId,
      eventId: 'evt_1',
      eventType: 'a.b',
      signing: 'valid',
      status: 'pending',
      remaining: 1,
      attempts: [],
      nextAttemptAt: clock.now(),
      signedBytes: undefined,
    })
    expect(textOf(resent.bytes)).toBe(textOf(original.bytes))
    expect(resent.id).not.toBe(original.id)
    expect([log.size, messages]).toEqual([2, [{ type: 'delivery', delivery: resent }]])
    webhooks.update('acme', webhookId, { active: true })
    engine.resume()
    expect([original.isInFlight, resent.isInFlight]).toEqual([true, true])
  })

  it.each<[string | Uint8Array, eventId: string, eventType: string]>([
    ['{"id":"new","type":"b.c"}', 'new', 'b.c'],
    [bytesOf('{"id":"new"}'), 'new', 'a.b'],
    ['{"type":"b.c"}', 'evt_1', 'b.c'],
    ['{"id":"","type":""}', 'evt_1', 'a.b'],
    ['{"id":7,"type":null}', 'evt_1', 'a.b'],
    ['no JSON', 'evt_1', 'a.b'],
    ['', 'evt_1', 'a.b'],
    ['null', 'evt_1', 'a.b'],
    [`{"id":"${'x'.repeat(1_030)}","type":"${'y'.repeat(260)}"}`, 'x'.repeat(1_024), 'y'.repeat(256)],
  ])('of the body %s has the id and type in it, or those of the original', (body, eventId, eventType) => {
    const { deliveries, emit } = make()
    const resent = deliveries.resend(emit().id, { body })
    expect([resent.eventId, resent.eventType]).toEqual([eventId, eventType])
    expect(textOf(resent.bytes)).toBe(typeof body === 'string' ? body : textOf(body))
  })

  it('keeps the bytes that its wrong signature covers', () => {
    const { deliveries, emit } = make()
    const original = emit()
    const stale = deliveries.resend(original.id, { body: '{}', sign: 'stale-bytes' })
    expect([stale.signing, textOf(stale.bytes), textOf(stale.signedBytes)]).toEqual([
      ...['stale-bytes', '{}', textOf(original.bytes)],
    ])
    expect(deliveries.resend(original.id, { sign: 'none' })).toMatchObject({ signing: 'none', signedBytes: undefined })
  })

  it('is refused if nothing was edited for a stale signature, or if the original or its webhook is gone', () => {
    const { deliveries, webhooks, webhookId, emit, log } = make({ assume: { A33: 'kept' } })
    const { id } = emit()
    expect(() => deliveries.resend(id, { sign: 'stale-bytes' })).toThrow(refusal('invalid', 'needs an edited body'))
    expect(() => deliveries.resend('x')).toThrow(refusal('unknown', 'there is no such delivery'))
    webhooks.delete('acme', webhookId, (write) => write())
    expect(() => deliveries.resend(id)).toThrow(refusal('unknown', 'the webhook of the delivery has been deleted'))
    expect(log.size).toBe(1)
  })
})

it('the log of a deleted webhook is kept if that is assumed: only the pending deliveries have failed (A33)', () => {
  const { deliveries, deleteWebhook, webhookId, emit, fail, log, messages } = make({ assume: { A33: 'kept' } })
  const [failed, succeeded, pending] = [fail(emit()), emit(), emit()]
  log.update([succeeded], { status: 'success', nextAttemptAt: undefined })
  messages.splice(0)
  deleteWebhook('acme', webhookId)
  expect(deliveries.listOf('acme', webhookId)).toMatchObject([
    { status: 'failed', note: 'it failed' },
    { status: 'success', note: undefined },
    { status: 'failed', note: 'the webhook was deleted', nextAttemptAt: undefined },
  ])
  expect(failed.note).toBe('it failed')
  expect(messages).toMatchObject([{ type: 'delivery', delivery: pending }, { type: 'webhook' }])
})
