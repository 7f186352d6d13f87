import { describe, expect, it } from 'vitest'
import { call, sink, start } from './support.ts'

describe('a delivery', () => {
  it('loses the reason of its failure when it is retried', async () => {
    const crm = await start({ assume: { retriesWhilePaused: 'dropped' } })
    const receiver = await sink(crm.clock, 500)
    const { id: webhookId } = crm.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
    crm.events.emit({ type: 'sync.failed' })
    await crm.clock.advance(0)
    crm.webhooks.pause(webhookId)
    await crm.clock.advance('30s')
    const [{ id } = { id: '' }] = crm.deliveries.list()
    expect(crm.deliveries.get(id)).toMatchObject({ status: 'failed', note: 'the webhook was paused' })
    crm.webhooks.resume(webhookId)
    expect(crm.deliveries.retry(id).note).toBeUndefined()
  })

  it('that is retried while it waits is attempted by the new schedule alone', async () => {
    const crm = await start({ assume: { retryOfUnfailed: 'accepted', retryAttempts: 'schedule' } })
    const receiver = await sink(crm.clock, 500)
    crm.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
    const [id = ''] = crm.events.emit({ type: 'sync.failed' }).deliveries
    await crm.clock.advance('10s')
    crm.deliveries.retry(id)
    await crm.clock.advance('29s')
    expect(receiver.received).toHaveLength(2)
    await crm.clock.advance('1s')
    expect(receiver.received).toHaveLength(3)
  })

  it('that a pause caught in its latency is the first to leave when its webhook is resumed', async () => {
    const crm = await start({ ordered: true, faults: { latency: '10s' } })
    const receiver = await sink(crm.clock)
    const webhook = crm.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
    for (const id of ['evt_first', 'evt_second']) crm.events.emit({ type: 'sync.failed', id })
    await crm.clock.advance('5s')
    crm.webhooks.pause(webhook.id)
    await crm.clock.advance('10s')
    crm.webhooks.resume(webhook.id)
    await crm.clock.advance('30s')
    expect(receiver.received.map(({ body }) => JSON.parse(body.toString()).id)).toEqual(['evt_first', 'evt_second'])
  })
})

it('a page without an origin of its own, such as one in a sandbox, is refused', async () => {
  const crm = await start()
  crm.records.create('contact', { _id: 'kept' })
  const { status } = await call(crm, 'POST /_emulator/reset', { body: {}, headers: { origin: 'null' } })
  expect([status, crm.records.list('contact').length]).toEqual([403, 1])
})
