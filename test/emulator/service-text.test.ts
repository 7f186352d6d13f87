import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { call, pick, sink, start } from './support.ts'

// Follows the service's document: the titles name its sections and the rows of its tables.

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const WEBHOOKS = '/api/integrations/webhooks'

async function scene() {
  const crm = await start()
  const token = await crm.login()
  const receiver = await sink(crm.clock)
  const create = (fields: object = {}) =>
    call(crm, `POST ${WEBHOOKS}`, { token, body: { url: receiver.url, events: ['contact.created'], ...fields } })
  return { crm, token, receiver, create }
}

describe('2.3 Webhook registration', () => {
  it('secret is assigned by the service and shown in the answer to the registration only', async () => {
    const { crm, token, create } = await scene()
    const created = await create({ secret: 'chosen by me' })
    const secret = pick(created.json, 'secret')
    expect(secret).toMatch(/^whsec_[\w-]{43}$/)
    const path = `${WEBHOOKS}/${pick(created.json, '_id')}`
    const others = [`GET ${WEBHOOKS}`, `GET ${path}`, `GET ${path}/deliveries`, 'GET /_emulator/state']
    for (const line of others) expect((await call(crm, line, { token })).text).not.toContain(secret)
    expect((await call(crm, `PUT ${path}`, { token, body: { active: false } })).text).not.toContain(secret)
  })
})

describe('2.4 Webhook delivery', () => {
  async function deliver(change: (crm: Awaited<ReturnType<typeof start>>) => void) {
    const { crm, receiver, create } = await scene()
    await create({ events: ['contact.created', 'contact.updated', 'contact.deleted'] })
    change(crm)
    await crm.clock.advance(0)
    const [{ body } = { body: '' }, ...more] = receiver.received.toReversed()
    return { event: JSON.parse(String(body)), more, crm }
  }

  it('id, type, timestamp, accountKey and data, in this order', async () => {
    const { event } = await deliver((crm) => crm.records.create('contact', { firstName: 'Zoë' }))
    expect(Object.entries(event)).toEqual([
      ['id', expect.stringMatching(/^evt_[0-9a-f]{24}$/)],
      ['type', 'contact.created'],
      ['timestamp', expect.stringMatching(ISO_TIME)],
      ['accountKey', 'acme'],
      ['data', { record: expect.objectContaining({ firstName: 'Zoë' }) }],
    ])
  })

  it('data.record is the full object for created and updated', async () => {
    const record = { _id: 'c1', firstName: 'Zoë', lastName: 'Okafor', email: 'zoe@example.test', status: 'active' }
    const { event } = await deliver((crm) => crm.records.create('contact', record))
    expect(event.data.record).toEqual(record)
    const updated = await deliver((crm) => {
      crm.records.create('contact', record)
      crm.records.update('contact', 'c1', { status: 'lost' })
    })
    expect(updated.event).toMatchObject({ type: 'contact.updated', data: { record: { ...record, status: 'lost' } } })
  })

  it('data.record is only { _id } for deleted', async () => {
    const { event } = await deliver((crm) => {
      crm.records.create('contact', { _id: 'c1', firstName: 'Zoë' })
      crm.records.delete('contact', 'c1')
    })
    expect(event).toMatchObject({ type: 'contact.deleted' })
    expect(event.data).toEqual({ record: { _id: 'c1' } })
  })
})

describe('3.2 Webhook delivery: states', () => {
  it.each([301, 404, 503])(
    'attempting, %i within 10 s and fewer than 5 attempts: attempting again after the delay',
    async (status) => {
      const { crm, receiver, create } = await scene()
      await create()
      receiver.answers = [status, 200]
      crm.records.create('contact')
      await crm.clock.advance(0)
      expect(crm.deliveries.list()).toMatchObject([{ status: 'pending', nextAttemptAt: crm.clock.now() + 30_000 }])
      await crm.clock.advance('30s')
      expect(crm.deliveries.list()).toMatchObject([{ status: 'success', nextAttemptAt: undefined }])
    },
  )

  it.each([200, 204])('attempting, %i: success', async (status) => {
    const { crm, receiver, create } = await scene()
    await create()
    receiver.answers = [status]
    crm.records.create('contact')
    await crm.clock.advance('24h')
    expect(crm.deliveries.list()).toMatchObject([{ status: 'success', attempts: [{ status }] }])
    expect(receiver.received).toHaveLength(1)
  })
})

describe('5 Authentication', () => {
  const ROUTES = [
    'GET /api/sales/contacts',
    `POST ${WEBHOOKS}`,
    `GET ${WEBHOOKS}`,
    `GET ${WEBHOOKS}/x`,
    `PUT ${WEBHOOKS}/x`,
    `DELETE ${WEBHOOKS}/x`,
    `GET ${WEBHOOKS}/x/deliveries`,
    `POST ${WEBHOOKS}/x/retry/y`,
  ]

  it.each(ROUTES)('every request except login sends a bearer token: %s', async (line) => {
    const crm = await start()
    const token = await crm.login()
    const body = line.startsWith('P') ? {} : undefined
    const forged = `${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`
    const unsigned = `${Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')}.${token.split('.')[1]}.`
    for (const header of [
      '',
      'Bearer',
      'Bearer ',
      `Basic ${token}`,
      'Bearer x.y.z',
      `Bearer ${forged}`,
      `Bearer ${unsigned}`,
    ])
      expect((await call(crm, line, { body, headers: { authorization: header } })).status, header).toBe(401)
    expect((await call(crm, line, { body })).status).toBe(401)
    expect((await call(crm, line, { body, token })).status).not.toBe(401)
  })

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
