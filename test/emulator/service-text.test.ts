import { createHmac } from 'node:crypto'
import type { Emulator } from 'postern/emulator'
import { describe, expect, it } from 'vitest'
import { sink, start } from './support.ts'

// Follows the service's document: the titles name its sections and the rows of its tables.

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe('2.4 Webhook delivery', () => {
  /** Makes changes, and returns the events that a webhook of contacts gets. */
  async function deliver(change: (crm: Emulator) => void) {
    const crm = await start()
    const receiver = await sink(crm.clock)
    crm.webhooks.create({ url: receiver.url, events: ['contact.created', 'contact.updated', 'contact.deleted'] })
    change(crm)
    await crm.clock.advance(0)
    return receiver.received.map(({ body }) => JSON.parse(String(body)))
  }

  it('id, type, timestamp, accountKey and data, in this order', async () => {
    const [event] = await deliver((crm) => crm.records.create('contact', { firstName: 'Zoë' }))
    expect(Object.entries(event)).toEqual([
      ['id', expect.stringMatching(/^evt_[0-9a-f]{24}$/)],
      ['type', 'contact.created'],
      ['timestamp', expect.stringMatching(ISO_TIME)],
      ['accountKey', 'acme'],
      ['data', { record: expect.objectContaining({ firstName: 'Zoë' }) }],
    ])
  })

  it('data.record is the full object for created and updated, and only { _id } for deleted', async () => {
    const record = { _id: 'c1', firstName: 'Zoë', lastName: 'Okafor', email: 'zoe@example.test', status: 'active' }
    const events = await deliver((crm) => {
      crm.records.create('contact', record)
      crm.records.update('contact', 'c1', { status: 'lost' })
      crm.records.delete('contact', 'c1')
    })
    const told = new Map(events.map(({ type, data }) => [type, data]))
    expect(told.get('contact.created')).toEqual({ record })
    expect(told.get('contact.updated')).toEqual({ record: { ...record, status: 'lost' } })
    expect(told.get('contact.deleted')).toEqual({ record: { _id: 'c1' } })
  })
})

describe('5 Authentication', () => {
  it.each(['spaced', 'compact', 'pretty', 'escaped', 'random'] as const)(
    'X-Service-Signature is sha256= and HMAC-SHA256 over the exact bytes in hexadecimal: %s',
    async (format) => {
      const crm = await start({ format })
      const receiver = await sink(crm.clock)
      const { secret } = crm.webhooks.create({ url: receiver.url, events: ['contact.created'] })
      crm.records.create('contact', { firstName: 'Zoë', path: 'a/b' })
      await crm.clock.advance(0)
      const [delivery] = receiver.received
      const digest = createHmac('sha256', secret)
        .update(delivery?.body ?? '')
        .digest('hex')
      expect(delivery?.headers['x-service-signature']).toBe(`sha256=${digest}`)
      const text = delivery?.body.toString() ?? ''
      expect(JSON.parse(text)).toMatchObject({ data: { record: { firstName: 'Zoë', path: 'a/b' } } })
      expect(JSON.stringify(JSON.parse(text)) === text).toBe(format === 'compact')
    },
  )
})
