import { describe, expect, it } from 'vitest'
import { call, pick, sink, start } from './support.ts'

// The rest of the tests by the service's document.

describe('6 Events', () => {
  it.each(['contact', 'opportunity', 'financeInvoice'])(
    '{model}.created, .updated and .deleted of any registered model: %s',
    async (model) => {
      const crm = await start()
      const receiver = await sink(crm.clock)
      const events = [`${model}.created`, `${model}.updated`, `${model}.deleted`]
      crm.webhooks.create({ url: receiver.url, events })
      const path = `/_emulator/records/${model}`
      const created = await call(crm, `POST ${path}`, { body: { name: 'one' } })
      await crm.clock.advance(0)
      await call(crm, `PUT ${path}/${pick(created.json, '_id')}`, { body: { name: 'two' } })
      await crm.clock.advance(0)
      expect((await call(crm, `DELETE ${path}/${pick(created.json, '_id')}`)).status).toBe(204)
      await crm.clock.advance(0)
      expect(receiver.received.map(({ body }) => JSON.parse(String(body)).type)).toEqual(events)
    },
  )

  it.each([
    'finance.payment.completed',
    'finance.payment.failed',
    'sync.completed',
    'sync.failed',
    'import.completed',
    'export.completed',
  ])('%s', async (type) => {
    const crm = await start()
    const receiver = await sink(crm.clock)
    crm.webhooks.create({ url: receiver.url, events: [type] })
    crm.webhooks.create({ url: receiver.url, events: ['contact.created'] })
    expect((await call(crm, 'POST /_emulator/events', { body: { type } })).status).toBe(202)
    await crm.clock.advance(0)
    expect(receiver.received.map(({ body }) => JSON.parse(String(body)).type)).toEqual([type])
  })

  it('a subscription may also name types such as invoice.paid', async () => {
    const warnings: string[] = []
    const crm = await start()
    crm.subscribe((message) => message.type === 'warning' && warnings.push(message.message))
    const { events } = crm.webhooks.create({ url: 'http://localhost/', events: ['invoice.paid'] })
    expect(events).toEqual(['invoice.paid'])
    expect(warnings).toEqual([expect.stringContaining('"invoice.paid" is not among the types')])
  })

  it('the id of an event is unique', async () => {
    const crm = await start()
    const ids = crm.events.emitMany({ type: 'sync.failed' }, 500).map(({ id }) => id)
    expect(new Set(ids).size).toBe(500)
  })

  it('an event goes to each webhook that names its type and is active, with the same id', async () => {
    const crm = await start()
    const [one, two, other] = [await sink(), await sink(), await sink()]
    crm.webhooks.create({ url: one.url, events: ['contact.created', 'contact.created'] })
    crm.webhooks.create({ url: two.url, events: ['sync.failed', 'contact.created'] })
    crm.webhooks.create({ url: other.url, events: ['contact.created'], active: false })
    crm.records.create('contact')
    await crm.clock.advance(0)
    expect([one, two, other].map(({ received }) => received.length)).toEqual([1, 1, 0])
    expect(one.received[0]?.body).toEqual(two.received[0]?.body)
    expect(one.received[0]?.headers['x-service-signature']).not.toBe(two.received[0]?.headers['x-service-signature'])
  })
})

describe('7 Errors', () => {
  it('401 Unauthorized: token missing, invalid or expired', async () => {
    const crm = await start({ tokenTtl: '5s' })
    const token = await crm.login()
    await crm.clock.advance('5s')
    for (const given of [undefined, 'nonsense', token])
      expect(await call(crm, 'GET /api/sales/contacts', { token: given })).toMatchObject({
        status: 401,
        json: { statusCode: 401, error: 'Unauthorized', message: expect.any(String) },
      })
  })

  it('429 Too Many Requests: the rate limit is exceeded, until the window ends', async () => {
    const crm = await start({ rateLimit: '3/60s' })
    const token = await crm.login()
    const statuses = []
    for (let count = 0; count < 5; count++)
      statuses.push((await call(crm, 'GET /api/sales/contacts', { token })).status)
    expect(statuses).toEqual([200, 200, 200, 429, 429])
    await crm.clock.advance('60s')
    expect((await call(crm, 'GET /api/sales/contacts', { token })).status).toBe(200)
  })
})

describe('8 Limits', () => {
  it('access token lifetime: 1 hour', async () => {
    const crm = await start()
    const login = await call(crm, 'POST /api/identity/auth/login', {
      body: { email: 'ada@acme.test', password: 'password' },
    })
    expect(login.json).toMatchObject({ expiresIn: 3_600 })
  })

  it.each([
    ['9.9s', 'pending', true],
    ['10s', 'pending', false],
  ])(
    'receiver response deadline: after %s without an answer, the attempt is under way: %s',
    async (time, status, isInFlight) => {
      const crm = await start()
      const receiver = await sink(crm.clock, 0)
      crm.webhooks.create({ url: receiver.url, events: ['contact.created'] })
      crm.records.create('contact')
      await crm.clock.advance(time)
      expect(crm.deliveries.list()).toMatchObject([{ status, isInFlight }])
    },
  )

  it.each([
    [1, '0s'],
    [2, '30s'],
    [3, '5m'],
    [4, '30m'],
    [5, '2h'],
  ])('delay before attempt %i: %s', async (number, delay) => {
    const crm = await start()
    const receiver = await sink(crm.clock, 500)
    crm.webhooks.create({ url: receiver.url, events: ['contact.created'] })
    crm.records.create('contact')
    if (number > 1) for (let made = 1; made < number - 1; made++) await crm.clock.next()
    await crm.clock.advance(0)
    const before = crm.clock.now()
    if (number > 1) {
      expect(receiver.received).toHaveLength(number - 1)
      await crm.clock.next()
    }
    expect(receiver.received).toHaveLength(number)
    const seconds = { '0s': 0, '30s': 30, '5m': 300, '30m': 1_800, '2h': 7_200 }[delay]
    expect((crm.clock.now() - before) / 1_000).toBe(seconds)
  })

  it.each(['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'])(
    '%s is on every answer',
    async (name) => {
      const crm = await start({ rateLimit: '2/60s', loginRateLimit: '5/60s' })
      const token = await crm.login()
      const resetAt = Math.ceil((crm.clock.now() + 60_000) / 1_000)
      const values = { 'X-RateLimit-Limit': [2, 2, 2, 2, 5], 'X-RateLimit-Remaining': [1, 0, 0, 1, 4] }
      const told = []
      for (const [line, given] of [
        ['GET /api/sales/contacts', token],
        ['GET /api/nothing', token],
        ['GET /api/sales/contacts', token],
        ['GET /api/sales/contacts', 'invalid'],
      ] as const)
        told.push(await call(crm, line, { token: given }))
      told.push(await call(crm, 'POST /api/identity/auth/login', { body: {} }))
      expect(told.map(({ status }) => status)).toEqual([200, 404, 429, 401, 422])
      const expected = Object.entries(values).find(([known]) => known === name)?.[1] ?? told.map(() => resetAt)
      expect(told.map(({ headers }) => Number(headers.get(name)))).toEqual(expected)
    },
  )
})

describe('9 Versioning', () => {
  it('is not visible: no path and no header has a version', async () => {
    const crm = await start()
    const { headers } = await call(crm, 'GET /api/sales/contacts', { token: await crm.login() })
    expect([...headers.keys()].filter((name) => name.includes('version'))).toEqual([])
    expect((await call(crm, 'GET /api/v1/sales/contacts', { token: await crm.login() })).status).toBe(404)
  })
})
