import { sign } from 'postern'
import type { EmulatorOptions } from 'postern/emulator'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { sink, start } from './support.ts'

/** An emulator with a receiver of its webhook, and a function that emits an event and returns the first attempt. */
async function scene(options: EmulatorOptions = {}, ...answers: readonly number[]) {
  const crm = await start(options)
  const receiver = await sink(crm.clock, ...answers)
  const webhook = crm.webhooks.create({ url: receiver.url, events: ['a.b'] })
  const attempt = async () => {
    const [id = ''] = crm.events.emit({ type: 'a.b' }).deliveries
    await crm.clock.advance(0)
    const { bytes, attempts } = crm.deliveries.get(id)
    return { id, bytes, made: attempts[0] }
  }
  return { crm, receiver, webhook, attempt }
}

describe('an attempt', () => {
  it('sends the body and what the service documents, and nothing else', async () => {
    const { receiver, webhook, attempt } = await scene()
    const { bytes, made } = await attempt()
    const [{ method, body, rawHeaders, headers } = expect.fail()] = receiver.received
    expect([method, body]).toEqual(['POST', Buffer.from(bytes)])
    expect(rawHeaders).toEqual(made?.requestHeaders?.flat())
    expect(Object.keys(headers)).toEqual([
      ...['content-type', 'content-length', 'user-agent', 'x-service-signature', 'host', 'connection'],
    ])
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(bytes.length),
      'user-agent': 'postern-emulator',
      'x-service-signature': sign(bytes, webhook.secret),
    })
  })

  it('names the delivery in further headers if that was requested', async () => {
    const devToken = 'a-token-of-postern-dev'
    const { crm, receiver, webhook, attempt } = await scene({ debugHeaders: true, devToken }, 500)
    const { id } = await attempt()
    await crm.clock.advance('30s')
    expect(receiver.received[1]?.headers).toMatchObject({
      'x-postern-dev': devToken,
      'x-emulator-delivery': id,
      'x-emulator-webhook': webhook.id,
      'x-emulator-attempt': '2',
    })
  })

  it('is signed with digits in upper case if that is assumed (A40)', async () => {
    const { receiver, webhook, attempt } = await scene({ assume: { A40: 'upper' } })
    const { bytes } = await attempt()
    const digits = sign(bytes, webhook.secret).slice('sha256='.length)
    expect(receiver.received[0]?.headers['x-service-signature']).toBe(['sha256', digits.toUpperCase()].join('='))
  })

  it('is signed wrongly if that was requested', async () => {
    const { crm, receiver, webhook, attempt } = await scene()
    const { id, bytes } = await attempt()
    crm.deliveries.resend(id, { sign: 'none' })
    crm.deliveries.resend(id, { body: '{}', sign: 'stale-bytes' })
    await crm.clock.advance(0)
    const values = receiver.received.slice(1).map(({ headers }) => headers['x-service-signature'])
    expect(values).toEqual([undefined, sign(bytes, webhook.secret)])
  })

  it.each([
    ['new', [1, 1]],
    ['old', [2, 0]],
  ])('goes to the %s URL if it was changed (A34)', async (A34, counts) => {
    const { crm, receiver, webhook, attempt } = await scene({ assume: { A34 } as object }, 500)
    const changed = await sink()
    const { id } = await attempt()
    crm.webhooks.update(webhook.id, { url: changed.url })
    await crm.clock.advance('30s')
    expect([receiver.received.length, changed.received.length]).toEqual(counts)
    expect(crm.deliveries.get(id).attempts[1]?.url).toBe(A34 === 'new' ? changed.url : receiver.url)
  })

  it('is recorded with its times, and the time of each phase', async () => {
    const times: number[] = []
    const clock = Object.assign(manualClock(), { monotonic: () => times.shift() ?? 2_111 })
    const { receiver, attempt } = await scene({ clock })
    times.push(1_000, 1_001, 1_011, 1_111)
    expect((await attempt()).made).toMatchObject({
      number: 1,
      url: receiver.url,
      at: clock.now(),
      durationMs: 111,
      status: 200,
      failure: undefined,
      phases: { connectMs: 1, waitMs: 10, bodyMs: 100 },
    })
  })

  it('that fails before it is sent is recorded as such', async () => {
    const { receiver, attempt } = await scene({ faults: { fail: 1 } })
    const error = 'dropped by the fault "fail" of the emulator, before it was sent'
    expect((await attempt()).made).toMatchObject({ number: 1, durationMs: 0, failure: 'reset', error })
    expect(receiver.received).toEqual([])
  })

  it('is sent twice by the fault, and the first answer counts', async () => {
    const { receiver, attempt } = await scene({ faults: { duplicate: 1 } }, 500)
    const { bytes, made } = await attempt()
    expect(made).toMatchObject({ number: 1, status: 500 })
    expect(receiver.received.map(({ body }) => body)).toEqual([Buffer.from(bytes), Buffer.from(bytes)])
  })
})
