import { describe, expect, it } from 'vitest'
import { call, pick, sink, start } from './support.ts'

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
})

it('a page without an origin of its own, such as one in a sandbox, is refused', async () => {
  const crm = await start()
  crm.records.create('contact', { _id: 'kept' })
  const { status } = await call(crm, 'POST /_emulator/reset', { body: {}, headers: { origin: 'null' } })
  expect([status, crm.records.list('contact').length]).toEqual([403, 1])
})

it('a list that ends with its page has no mark of a next one', async () => {
  const crm = await start({ dialect: 'envelope' })
  for (let made = 0; made < 40; made++) crm.webhooks.create({ url: 'http://localhost/', events: ['sync.failed'] })
  const token = await crm.login()
  const read = async (query: string) => (await call(crm, `GET /api/integrations/webhooks${query}`, { token })).json
  const first = await read('')
  const last = await read(`?cursor=${pick(first, 'nextCursor')}`)
  expect([pick(first, 'data', 'length'), pick(first, 'nextCursor'), pick(last, 'data', 'length')]).toEqual([
    '20',
    '20',
    '20',
  ])
  expect(last).not.toHaveProperty('nextCursor')
})
