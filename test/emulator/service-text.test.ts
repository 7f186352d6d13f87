import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type Answer, call, pick, sink, start } from './support.ts'

// Follows the service's document: the titles name its sections and the rows of its tables.

const HEX_ID = /^[0-9a-f]{24}$/
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const LOGIN = { email: 'ada@acme.test', password: 'password' }
const WEBHOOKS = '/api/integrations/webhooks'

async function scene() {
  const crm = await start()
  const token = await crm.login()
  const receiver = await sink(crm.clock)
  const create = (fields: object = {}) =>
    call(crm, `POST ${WEBHOOKS}`, { token, body: { url: receiver.url, events: ['contact.created'], ...fields } })
  return { crm, token, receiver, create }
}

describe('1 What the service does', () => {
  it('resolves the account from the bearer token, on one base address for all accounts', async () => {
    const crm = await start()
    crm.records.create('contact', { firstName: 'Zoë' }, { accountKey: 'acme' })
    crm.records.create('contact', { firstName: 'Gus' }, { accountKey: 'globex' })
    for (const [accountKey, firstName] of [
      ['acme', 'Zoë'],
      ['globex', 'Gus'],
    ]) {
      const token = await crm.login({ accountKey })
      expect((await call(crm, 'GET /api/sales/contacts', { token })).json).toMatchObject([{ firstName }])
    }
  })

  it('pushes server-to-server HTTP POST notifications when events occur', async () => {
    const { crm, receiver, create } = await scene()
    await create()
    crm.records.create('contact')
    await crm.clock.advance(0)
    expect(receiver.received.map(({ method }) => method)).toEqual(['POST'])
  })
})

describe('2.1 Login request', () => {
  it.each(['email', 'password'])('%s is required, and text', async (field) => {
    const crm = await start()
    for (const value of [undefined, 1, null, ['x']])
      expect((await call(crm, 'POST /api/identity/auth/login', { body: { ...LOGIN, [field]: value } })).status).toBe(
        422,
      )
  })

  it.each([
    ['email', { ...LOGIN, email: 'nobody@acme.test' }],
    ['password', { ...LOGIN, password: 'Password' }],
    ['email', { ...LOGIN, email: 'gus@globex.test', password: '' }],
  ])('a wrong %s is refused', async (_field, body) => {
    expect((await call(await start(), 'POST /api/identity/auth/login', { body })).status).toBe(401)
  })
})

describe('2.2 Login response', () => {
  it('accessToken is a JWT; expiresIn is its lifetime of one hour', async () => {
    const crm = await start()
    const { status, json } = await call(crm, 'POST /api/identity/auth/login', { body: LOGIN })
    expect(status).toBe(200)
    expect(json).toEqual({ accessToken: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/), expiresIn: 3_600 })
    const [, claims = ''] = pick(json, 'accessToken').split('.')
    const now = Math.floor(crm.clock.now() / 1_000)
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
      sub: LOGIN.email,
      accountKey: 'acme',
      iat: now,
      exp: now + 3_600,
    })
  })
})

describe('2.3 Webhook registration', () => {
  it('_id is assigned by the service', async () => {
    const { create } = await scene()
    expect(pick((await create({ _id: 'mine' })).json, '_id')).toMatch(HEX_ID)
  })

  it.each(['url', 'events'])('%s is required on create', async (field) => {
    const { create } = await scene()
    expect((await create({ [field]: undefined })).status).toBe(422)
  })

  it('url is an absolute URL', async () => {
    const { create } = await scene()
    for (const url of ['/hooks', 'localhost:3000', 'hooks', '', 7]) expect((await create({ url })).status).toBe(422)
    expect((await create({ url: 'https://crm.example.com/hooks' })).status).toBe(201)
  })

  it('events is an array of text', async () => {
    const { create } = await scene()
    for (const events of ['contact.created', [1], [null], {}]) expect((await create({ events })).status).toBe(422)
  })

  it('description is free text, and may be omitted', async () => {
    const { create } = await scene()
    expect((await create({ description: 'Meine <b>Notiz</b>' })).json).toMatchObject({
      description: 'Meine <b>Notiz</b>',
    })
    expect((await create()).json).not.toHaveProperty('description')
  })

  it('active may be omitted, false pauses, and the answer echoes the stored value', async () => {
    const { create } = await scene()
    expect((await create()).json).toMatchObject({ active: true })
    expect((await create({ active: false })).json).toMatchObject({ active: false })
    expect((await create({ active: 'false' })).status).toBe(422)
  })

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

  it('createdAt is ISO 8601, UTC', async () => {
    const { create } = await scene()
    expect(pick((await create()).json, 'createdAt')).toMatch(ISO_TIME)
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

  it.each([
    ['id', expect.stringMatching(/^evt_[0-9a-f]{24}$/)],
    ['type', 'contact.created'],
    ['timestamp', expect.stringMatching(ISO_TIME)],
    ['accountKey', 'acme'],
    ['data', { record: expect.objectContaining({ firstName: 'Zoë' }) }],
  ])('%s', async (field, value) => {
    const { event } = await deliver((crm) => crm.records.create('contact', { firstName: 'Zoë' }))
    expect(event[field]).toEqual(value)
    expect(Object.keys(event)).toEqual(['id', 'type', 'timestamp', 'accountKey', 'data'])
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

describe('3.1 Webhook registration: states', () => {
  it('active, PUT active false: paused; deliveries stop, and the registration is kept', async () => {
    const { crm, token, receiver, create } = await scene()
    const path = `${WEBHOOKS}/${pick((await create()).json, '_id')}`
    expect((await call(crm, `PUT ${path}`, { token, body: { active: false } })).json).toMatchObject({ active: false })
    crm.records.create('contact')
    await crm.clock.advance('24h')
    expect(receiver.received).toEqual([])
    expect((await call(crm, `GET ${path}`, { token: await crm.login() })).json).toMatchObject({ active: false })
  })

  it('paused, PUT active true: active; delivery resumes', async () => {
    const { crm, token, receiver, create } = await scene()
    const path = `${WEBHOOKS}/${pick((await create({ active: false })).json, '_id')}`
    await call(crm, `PUT ${path}`, { token, body: { active: true } })
    crm.records.create('contact')
    await crm.clock.advance(0)
    expect(receiver.received).toHaveLength(1)
  })

  it.each([true, false])('DELETE if active is %s: removed permanently', async (active) => {
    const { crm, token, receiver, create } = await scene()
    const path = `${WEBHOOKS}/${pick((await create({ active })).json, '_id')}`
    expect((await call(crm, `DELETE ${path}`, { token })).status).toBe(204)
    for (const line of [`GET ${path}`, `DELETE ${path}`, `GET ${path}/deliveries`])
      expect((await call(crm, line, { token })).status).toBe(404)
    expect((await call(crm, `PUT ${path}`, { token, body: { active: true } })).status).toBe(404)
    crm.records.create('contact')
    await crm.clock.advance('24h')
    expect(receiver.received).toEqual([])
  })
})

describe('3.2 Webhook delivery: states', () => {
  it.each([300, 301, 304, 400, 401, 404, 410, 429, 500, 503])(
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

  it.each([200, 201, 202, 204, 299])('attempting, %i: success', async (status) => {
    const { crm, receiver, create } = await scene()
    await create()
    receiver.answers = [status]
    crm.records.create('contact')
    await crm.clock.advance('24h')
    expect(crm.deliveries.list()).toMatchObject([{ status: 'success', attempts: [{ status }] }])
    expect(receiver.received).toHaveLength(1)
  })

  it('attempting, the 5th attempt fails: failed', async () => {
    const { crm, receiver, create } = await scene()
    await create()
    receiver.answers = [500]
    crm.records.create('contact')
    await crm.clock.advance('2h35m29s')
    expect(crm.deliveries.list()).toMatchObject([{ status: 'pending' }])
    await crm.clock.advance('1s')
    expect(crm.deliveries.list()).toMatchObject([{ status: 'failed', nextAttemptAt: undefined }])
  })

  it.each([
    [200, 'success'],
    [500, 'failed'],
  ])('failed, POST retry: one attempt immediately; answered %i, %s', async (status, outcome) => {
    const { crm, receiver, create } = await scene()
    const path = `${WEBHOOKS}/${pick((await create()).json, '_id')}`
    receiver.answers = [500, 500, 500, 500, 500, status]
    crm.records.create('contact')
    await crm.clock.advance('3h')
    const [delivery] = crm.deliveries.list()
    const retried = await call(crm, `POST ${path}/retry/${delivery?.id}`, { token: await crm.login() })
    expect(retried).toMatchObject({
      status: 202,
      json: { _id: delivery?.id, status: 'pending', eventId: delivery?.eventId },
    })
    await crm.clock.advance('24h')
    expect(delivery?.status).toBe(outcome)
    expect(receiver.received).toHaveLength(6)
  })
})

describe('4 Endpoints', () => {
  it('POST /api/identity/auth/login needs no bearer token', async () => {
    expect((await call(await start(), 'POST /api/identity/auth/login', { body: LOGIN })).status).toBe(200)
  })

  it('GET /api/sales/contacts returns JSON', async () => {
    const { crm, token } = await scene()
    crm.records.create('contact', { email: 'zoe@example.test' })
    crm.records.create('opportunity', { title: 'not a contact' })
    const { status, headers, json } = await call(crm, 'GET /api/sales/contacts', {
      token,
      headers: { accept: 'application/json' },
    })
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(json).toEqual([{ _id: expect.stringMatching(HEX_ID), email: 'zoe@example.test' }])
  })

  it('POST /api/integrations/webhooks returns the registration with secret', async () => {
    const { create, receiver } = await scene()
    const { status, json } = await create({ description: 'mine' })
    expect(status).toBe(201)
    expect(json).toEqual({
      _id: expect.any(String),
      url: receiver.url,
      events: ['contact.created'],
      description: 'mine',
      active: true,
      secret: expect.any(String),
      createdAt: expect.any(String),
    })
  })

  it('GET /api/integrations/webhooks lists all registered webhooks', async () => {
    const { crm, token, create } = await scene()
    const made = [await create(), await create({ active: false }), await create()]
    const ids = ({ json }: Answer) => pick(json, '_id')
    const { json } = await call(crm, `GET ${WEBHOOKS}`, { token })
    expect(json).toMatchObject(made.map((answer) => ({ _id: ids(answer) })))
    expect(json).toHaveLength(3)
  })

  it('GET /api/integrations/webhooks/{id} returns a single webhook', async () => {
    const { crm, token, create } = await scene()
    const { secret: _secret, ...shown } = Object((await create()).json)
    expect((await call(crm, `GET ${WEBHOOKS}/${shown._id}`, { token })).json).toEqual(shown)
  })

  it.each([
    ['url', 'https://elsewhere.example.com/hooks'],
    ['events', ['sync.failed', 'contact.deleted']],
    ['active', false],
  ])('PUT /api/integrations/webhooks/{id} changes %s, and nothing else', async (field, value) => {
    const { crm, token, create } = await scene()
    const { secret: _secret, ...shown } = Object((await create()).json)
    const changed = await call(crm, `PUT ${WEBHOOKS}/${shown._id}`, { token, body: { [field]: value } })
    expect(changed).toMatchObject({ status: 200, json: { ...shown, [field]: value } })
  })

  it('DELETE /api/integrations/webhooks/{id} deletes permanently', async () => {
    const { crm, token, create } = await scene()
    const id = pick((await create()).json, '_id')
    expect(await call(crm, `DELETE ${WEBHOOKS}/${id}`, { token })).toMatchObject({ status: 204, text: '' })
    expect((await call(crm, `GET ${WEBHOOKS}`, { token })).json).toEqual([])
  })

  it('GET /api/integrations/webhooks/{id}/deliveries returns the log with the status of each', async () => {
    const { crm, token, receiver, create } = await scene()
    const id = pick((await create()).json, '_id')
    receiver.answers = [200, 500]
    crm.records.create('contact')
    await crm.clock.advance('1s')
    crm.records.create('contact')
    await crm.clock.advance(0)
    const { json } = await call(crm, `GET ${WEBHOOKS}/${id}/deliveries`, { token })
    expect(json).toEqual([
      expect.objectContaining({ status: 'pending', attempts: 1, responseStatus: 500, webhookId: id }),
      expect.objectContaining({ status: 'success', attempts: 1, responseStatus: 200, nextAttemptAt: null }),
    ])
  })

  it('POST /api/integrations/webhooks/{id}/retry/{delivery_id} needs a failed delivery of that webhook', async () => {
    const { crm, token, create } = await scene()
    const [id, otherId] = [
      pick((await create()).json, '_id'),
      pick((await create({ events: ['sync.failed'] })).json, '_id'),
    ]
    crm.records.create('contact')
    await crm.clock.advance(0)
    const deliveryId = crm.deliveries.list()[0]?.id
    const statusOf = async (path: string) => (await call(crm, `POST ${WEBHOOKS}/${path}`, { token })).status
    expect(await statusOf(`${id}/retry/${deliveryId}`)).toBe(409)
    expect(await statusOf(`${otherId}/retry/${deliveryId}`)).toBe(404)
    expect(await statusOf(`${id}/retry/nothing`)).toBe(404)
    expect(await statusOf(`nothing/retry/${deliveryId}`)).toBe(404)
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

  it('an access token expires 1 hour after issue: then 401, and the client logs in again', async () => {
    const crm = await start()
    const token = await crm.login()
    await crm.clock.advance('59m59s')
    expect((await call(crm, 'GET /api/sales/contacts', { token })).status).toBe(200)
    await crm.clock.advance('1s')
    expect((await call(crm, 'GET /api/sales/contacts', { token })).status).toBe(401)
    expect((await call(crm, 'GET /api/sales/contacts', { token: await crm.login() })).status).toBe(200)
  })

  it('there is no refresh operation', async () => {
    const crm = await start()
    const token = await crm.login()
    expect((await call(crm, 'POST /api/identity/auth/refresh', { token, body: {} })).status).toBe(404)
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

  it('a delivery has the header once, as JSON, and nothing that the service does not promise', async () => {
    const { crm, receiver, create } = await scene()
    await create()
    crm.records.create('contact')
    await crm.clock.advance(0)
    const names = receiver.received[0]?.rawHeaders.filter((_value, index) => index % 2 === 0)
    expect(names?.sort()).toEqual([
      'Connection',
      'Content-Length',
      'Content-Type',
      'Host',
      'User-Agent',
      'X-Service-Signature',
    ])
    expect(receiver.received[0]?.headers['content-type']).toBe('application/json')
  })
})
