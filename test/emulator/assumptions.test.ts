import { verify } from 'postern'
import { ASSUMPTIONS, type AssumptionId, type EmulatorOptions } from 'postern/emulator'
import { describe, expect, it } from 'vitest'
import { call, pick, sink, start } from './support.ts'

// Each assumption has a title that begins with its number; the last test compares the two lists.

const WEBHOOKS = '/api/integrations/webhooks'
const LOGIN = { email: 'ada@acme.test', password: 'password' }
const tested = new Set<string>()

/** One test for each value of an assumption. */
function assumption(id: AssumptionId, check: (value: string, options: EmulatorOptions) => Promise<void>): void {
  const [name, found] = Object.entries(ASSUMPTIONS).find(([, assumption]) => assumption.id === id) ?? []
  if (name === undefined || found === undefined) throw new Error(`there is no assumption ${id}`)
  const { subject, values } = found
  tested.add(name)
  describe(`${id} ${name}: ${subject}`, () => {
    it.each(Object.keys(values))('%s', (value) => check(value, { assume: { [id]: value } }))
  })
}

async function scene(options: EmulatorOptions, ...answers: readonly number[]) {
  const crm = await start(options)
  const token = await crm.login()
  const receiver = await sink(crm.clock, ...answers)
  const create = (fields: object = {}) =>
    call(crm, `POST ${WEBHOOKS}`, { token, body: { url: receiver.url, events: ['contact.created'], ...fields } })
  const api = (line: string, body?: object) => call(crm, line, { token, body })
  const idOf = (json: unknown) => (pick(json, '_id') === 'undefined' ? pick(json, 'id') : pick(json, '_id'))
  const register = async (fields?: object) => `${WEBHOOKS}/${idOf((await create(fields)).json)}`
  const fail = async () => {
    const path = await register()
    crm.records.create('contact', { firstName: 'Zoë' })
    await crm.clock.advance('2h35m30s')
    const [delivery] = crm.deliveries.list()
    if (delivery === undefined) throw new Error('there is a delivery')
    const fresh = await crm.login()
    const retry = () => call(crm, `POST ${path}/retry/${delivery.id}`, { token: fresh })
    return { path, delivery, retry, token: fresh }
  }
  return { crm, token, receiver, create, api, register, fail }
}

assumption('A01', async (value, options) => {
  const { create } = await scene(options)
  expect((await create()).json).toMatchObject({ active: value === 'true' })
})

assumption('A02', async (value, options) => {
  const { create } = await scene(options)
  expect((await create()).status).toBe(Number(value))
})

assumption('A03', async (value, options) => {
  const { create, api } = await scene(options)
  const { secret: _secret, ...plain } = Object((await create()).json)
  const shown = {
    plain,
    data: { data: plain },
    webhook: { webhook: plain },
    'null-secret': { ...plain, secret: null },
    'masked-secret': { ...plain, secret: '********' },
    'extra-fields': { ...plain, __v: 0, _links: { self: null }, flags: ['beta'], owner: { id: 1 } },
  }
  const path = `${WEBHOOKS}/${plain._id}`
  for (const answer of [await api(`GET ${path}`), await api(`PUT ${path}`, {})])
    expect(answer.json).toEqual(Object.entries(shown).find(([name]) => name === value)?.[1])
})

const LISTS = (name: string, items: readonly unknown[]) => ({
  array: items,
  data: { data: items },
  items: { items, total: items.length },
  named: { [name]: items },
  docs: { docs: items, page: 1 },
})

assumption('A04', async (value, options) => {
  const { crm, create, api, register } = await scene(options)
  const { secret: _secret, ...plain } = Object((await create({ events: ['sync.failed'] })).json)
  expect((await api(`GET ${WEBHOOKS}`)).json).toEqual(
    Object.entries(LISTS('webhooks', [plain])).find(([name]) => name === value)?.[1],
  )
  const path = await register()
  crm.records.create('contact')
  await crm.clock.advance(0)
  const { json } = await api(`GET ${path}/deliveries`)
  const entry = expect.objectContaining({ status: 'success' })
  expect(json).toEqual(Object.entries(LISTS('deliveries', [entry])).find(([name]) => name === value)?.[1])
})

assumption('A05', async (value, options) => {
  const { crm, create, api, register } = await scene(options)
  const path = await register()
  crm.records.create('contact')
  await crm.clock.advance(0)
  const names = value === 'both' ? ['_id', 'id'] : [value]
  for (const shown of [
    (await create()).json,
    (await api(`GET ${path}`)).json,
    Object((await api(`GET ${path}/deliveries`)).json)[0],
  ])
    expect(Object.keys(shown).filter((name) => /^_?id$/.test(name))).toEqual(names)
})

assumption('A06', async (value, options) => {
  const { api, register } = await scene(options)
  const path = await register()
  const deleted = await api(`DELETE ${path}`)
  const told = {
    200: [200, undefined],
    204: [204, undefined],
    success: [200, { success: true }],
    object: [200, expect.objectContaining({ active: true })],
  }
  expect([deleted.status, deleted.json]).toEqual(Object.entries(told).find(([name]) => name === value)?.[1])
  expect((await api(`GET ${path}`)).status).toBe(404)
})

assumption('A07', async (value, options) => {
  const { api, register } = await scene(options)
  const path = await register({ description: 'mine', active: false })
  expect((await api(`PUT ${path}`, { stray: 1 })).status).toBe(value === 'strict' ? 400 : 200)
  const kept = value === 'replace' ? { active: true } : { active: false, description: 'mine' }
  const { json } = await api(`PUT ${path}`, { events: ['sync.failed'] })
  expect(json).toMatchObject({ events: ['sync.failed'], ...kept })
  expect(Object.hasOwn(Object(json), 'description')).toBe(value !== 'replace')
  if (value !== 'replace')
    expect((await api(`PUT ${path}`, { description: 'new' })).json).toMatchObject({ description: 'new' })
})

assumption('A08', async (value, options) => {
  const { crm, receiver, api } = await scene(options)
  const ids = Array.from({ length: 25 }, () => crm.webhooks.create({ url: receiver.url, events: ['sync.failed'] }).id)
  const seen: string[] = []
  const read = (json: unknown) => Object(json).items ?? json
  if (value === 'none') seen.push(...read((await api(`GET ${WEBHOOKS}`)).json).map((each: object) => pick(each, '_id')))
  for (let page = 1, cursor: string | undefined; value !== 'none'; page++) {
    const mark = cursor === undefined ? '' : `&cursor=${cursor}`
    const { json } = await api(`GET ${WEBHOOKS}?limit=10${value === 'pages' ? `&page=${page}` : mark}`)
    seen.push(...read(json).map((each: object) => pick(each, '_id')))
    cursor = Object(json).nextCursor
    if (value === 'pages' ? read(json).length === 0 : cursor === undefined) break
  }
  expect(seen).toEqual(ids)
})

assumption('A09', async (value, options) => {
  const { crm, api, register } = await scene(options, 500)
  const path = await register()
  const record = crm.records.create('contact')
  await crm.clock.advance(0)
  const entry = Object((await api(`GET ${path}/deliveries`)).json)[0]
  const full = [
    '_id',
    'webhookId',
    'eventId',
    'eventType',
    'status',
    'attempts',
    'maxAttempts',
    'createdAt',
    'lastAttemptAt',
    'nextAttemptAt',
    'responseStatus',
    'error',
    'durationMs',
    'attemptLog',
  ]
  const rest = full.filter((name) => name !== 'eventType')
  const fields: Record<string, readonly string[]> = {
    minimal: ['_id', 'status', 'createdAt'],
    embedded: ['event', ...rest.filter((name) => name !== 'eventId')],
    type: ['type', ...rest],
    'extra-fields': [...full, '__v', '_links', 'flags', 'owner'],
  }
  expect(Object.keys(entry).sort()).toEqual([...(fields[value] ?? full)].sort())
  expect(typeof entry.createdAt).toBe(value === 'epoch-milliseconds' ? 'number' : 'string')
  if (value === 'embedded') expect(entry.event).toMatchObject({ type: 'contact.created', data: { record } })
})

assumption('A10', async (value, options) => {
  const { crm, api, register, receiver } = await scene(options)
  const path = await register()
  receiver.answers = [500, 200]
  crm.records.create('contact')
  await crm.clock.advance(0)
  const state = async () => pick((await api(`GET ${path}/deliveries`)).json, 0, 'status')
  const words: Record<string, readonly string[]> = {
    pending: ['pending', 'success'],
    delivered: ['retrying', 'delivered'],
    succeeded: ['attempting', 'succeeded'],
    upper: ['PENDING', 'SUCCESS'],
    unknown: ['parked', 'squared'],
  }
  const before = await state()
  await crm.clock.advance('30s')
  expect([before, await state()]).toEqual(words[value])
})

assumption('A11', async (value, options) => {
  const { crm, api, register } = await scene(options)
  const path = await register()
  crm.events.emitMany({ type: 'contact.created' }, 250)
  await crm.deliveries.whenIdle()
  const all = crm.deliveries.list().map(({ id }) => id)
  const read = async (query = '') =>
    Object((await api(`GET ${path}/deliveries${query}`)).json).map((each: object) => pick(each, '_id'))
  if (value === 'oldest') return expect(await read()).toEqual(all)
  const seen: string[] = []
  for (let page = await read(); page.length > 0; page = await read(`?before=${seen.at(-1)}`)) seen.push(...page)
  expect(seen).toEqual(all.toReversed())
  expect(await read('?limit=7')).toEqual(seen.slice(0, 7))
  expect(await read('?limit=1000')).toHaveLength(100)
})

assumption('A12', async (value, options) => {
  const { fail } = await scene(options, 500)
  const { retry } = await fail()
  const { status, json } = await retry()
  const entry = expect.objectContaining({ status: 'pending' })
  const told: Record<string, readonly unknown[]> = {
    202: [202, entry],
    200: [200, entry],
    204: [204, undefined],
    empty: [200, undefined],
    success: [200, { success: true }],
  }
  expect([status, json]).toEqual(told[value])
})

assumption('A13', async (value, options) => {
  const { crm, fail, receiver } = await scene(options, 500)
  const { retry, delivery } = await fail()
  await retry()
  await crm.clock.advance('24h')
  expect(receiver.received).toHaveLength(value === 'one' ? 6 : 10)
  expect(delivery.status).toBe('failed')
})

assumption('A14', async (value, options) => {
  const { crm, register, api, receiver } = await scene(options)
  const path = await register()
  crm.records.create('contact')
  await crm.clock.advance(0)
  const { status } = await api(`POST ${path}/retry/${crm.deliveries.list()[0]?.id}`)
  await crm.clock.advance(0)
  expect(status).toBe(value === 'accepted' ? 202 : Number(value))
  expect(receiver.received).toHaveLength(value === 'accepted' ? 2 : 1)
})

assumption('A15', async (value, options) => {
  const { crm, fail, receiver } = await scene(options, 500)
  const { retry } = await fail()
  await retry()
  await crm.clock.advance(0)
  const [first, last] = [receiver.received[0], receiver.received.at(-1)].map((each) => JSON.parse(String(each?.body)))
  expect(last).toEqual(value === 'same' ? first : { ...first, timestamp: new Date(crm.clock.now()).toISOString() })
  const { secret } = crm.webhooks.list()[0] ?? { secret: '' }
  const sent = receiver.received.at(-1)
  expect(verify(sent?.body ?? '', sent?.headers['x-service-signature'], secret)).toBe(true)
})

assumption('A16', async (value, options) => {
  const { crm, api } = await scene(options)
  const all = Array.from({ length: 60 }, () => crm.records.create('contact'))
  const page = (items: readonly unknown[], number: number) => ({
    ...LISTS('contacts', items),
    items: { items, total: 60 },
    docs: { docs: items, page: number },
  })
  const shown = (items: readonly unknown[], number = 1) =>
    Object.entries(page(items, number)).find(([name]) => name === value)?.[1]
  expect((await api('GET /api/sales/contacts')).json).toEqual(shown(all.slice(0, 50)))
  expect((await api('GET /api/sales/contacts?page=2')).json).toEqual(shown(all.slice(50), 2))
  expect((await api('GET /api/sales/contacts?page=3&limit=7')).json).toEqual(shown(all.slice(14, 21), 3))
  expect((await api('GET /api/sales/contacts?page=zero')).status).toBe(422)
})

assumption('A17', async (value, options) => {
  const { api, crm } = await scene(options)
  const refused = await api(`GET ${WEBHOOKS}/x`)
  const message = 'there is no such webhook'
  const bodies: Record<string, unknown> = {
    flat: { statusCode: 404, error: 'Not Found', message },
    nested: { error: { code: 'unknown', message } },
    messages: { statusCode: 404, message: [message] },
    problem: { type: 'about:blank', title: 'Not Found', status: 404, detail: message },
  }
  expect(refused.status).toBe(404)
  expect(refused.json).toEqual(bodies[value])
  if (value === 'empty') expect(refused.text).toBe('')
  if (value === 'text') {
    expect(refused.headers.get('content-type')).toContain('text/html')
    expect((await call(crm, `GET ${WEBHOOKS}`)).headers.get('content-type')).toContain('text/plain')
  }
})

assumption('A18', async (value, options) => {
  const { crm, token, api } = await scene(options)
  const badJson = await call(crm, `POST ${WEBHOOKS}`, { token, body: '{"url":' })
  const statuses = [
    badJson,
    await api(`POST ${WEBHOOKS}`, {}),
    await api(`GET ${WEBHOOKS}/x`),
    await api(`PATCH ${WEBHOOKS}`, {}),
  ]
  expect(statuses.map(({ status }) => status)).toEqual(
    value === 'distinct' ? [400, 422, 404, 405] : [400, 400, 404, 404],
  )
})

assumption('A19', async (value, options) => {
  const { crm, api } = await scene(options)
  const { id } = crm.webhooks.create({ url: 'http://localhost/', events: ['sync.failed'] }, { accountKey: 'globex' })
  expect((await api(`GET ${WEBHOOKS}/${id}`)).status).toBe(Number(value))
  expect((await api(`GET ${WEBHOOKS}/x`)).status).toBe(404)
})

assumption('A20', async (value, options) => {
  const { crm } = await scene(options)
  const body = { ...LOGIN, password: 'wrong' }
  expect((await call(crm, 'POST /api/identity/auth/login', { body })).status).toBe(Number(value))
})

assumption('A21', async (value, options) => {
  const { crm } = await scene(options)
  const now = crm.clock.now()
  const told: Record<string, number> = {
    seconds: 3_600,
    milliseconds: 3_600_000,
    'epoch-seconds': Math.floor((now + 3_600_000) / 1_000),
    'epoch-milliseconds': now + 3_600_000,
  }
  expect((await call(crm, 'POST /api/identity/auth/login', { body: LOGIN })).json).toMatchObject({
    expiresIn: told[value],
  })
})

assumption('A22', async (value, options) => {
  const { crm, token, api } = await scene(options)
  const claims = () => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  if (value === 'claims')
    expect(claims()).toMatchObject({ sub: LOGIN.email, accountKey: 'acme', exp: expect.any(Number) })
  if (value === 'renamed') expect(Object.keys(claims()).sort()).toEqual(['exp', 'jti', 'tenant', 'user'])
  if (value === 'opaque') expect(token).toMatch(/^opaque_[\w-]+$/)
  expect((await api('GET /api/sales/contacts')).status).toBe(200)
  await crm.clock.advance('1h')
  expect((await api('GET /api/sales/contacts')).status).toBe(401)
})

assumption('A23', async (value, options) => {
  const { crm, token, api } = await scene({ ...options, rateLimit: '10/60s' })
  const remaining = async (given: string) =>
    Number((await call(crm, 'GET /api/sales/contacts', { token: given })).headers.get('x-ratelimit-remaining'))
  await api('GET /api/sales/contacts')
  const told = [
    await remaining(token),
    await remaining(await crm.login()),
    await remaining(await crm.login({ accountKey: 'globex' })),
  ]
  expect(told).toEqual({ token: [8, 9, 9], account: [8, 7, 9], address: [8, 7, 6] }[value])
})

assumption('A24', async (value, options) => {
  const { crm, api } = await scene(options)
  const end = crm.clock.now() + 60_000
  await api('GET /api/sales/contacts')
  await crm.clock.advance('15s')
  const reset = Number((await api('GET /api/sales/contacts')).headers.get('x-ratelimit-reset'))
  expect(reset).toBe({ 'epoch-seconds': Math.ceil(end / 1_000), 'seconds-left': 45, 'epoch-milliseconds': end }[value])
})

assumption('A25', async (value, options) => {
  const { crm, api } = await scene(options)
  const has = async (line: string, token?: string) =>
    (await call(crm, line, { token })).headers.has('x-ratelimit-limit')
  const told = [
    (await api('GET /api/sales/contacts')).headers.has('x-ratelimit-limit'),
    await has('GET /api/sales/contacts'),
  ]
  expect(told).toEqual({ all: [true, true], success: [true, false], none: [false, false] }[value])
})

assumption('A26', async (value, options) => {
  const { crm, api } = await scene({ ...options, rateLimit: '1/60s' })
  const end = new Date(crm.clock.now() + 60_000).toUTCString()
  await api('GET /api/sales/contacts')
  const { status, headers } = await api('GET /api/sales/contacts')
  expect([status, headers.get('retry-after')]).toEqual([429, { absent: null, seconds: '60', date: end }[value]])
})

assumption('A27', async (value, options) => {
  const { create } = await scene(options)
  expect((await create({ events: ['invoice.paid'] })).status).toBe(value === 'accepted' ? 201 : 422)
  for (const event of ['invoice', 'in voice.paid', '.', '__proto__.x'])
    expect((await create({ events: [event] })).status).toBe(422)
})

assumption('A28', async (value, options) => {
  const { crm, create, receiver } = await scene(options)
  for (const pattern of ['*', 'contact.*', '*.deleted', '*.created'])
    expect((await create({ events: [pattern] })).status).toBe(201)
  crm.records.create('contact')
  await crm.clock.advance(0)
  expect(receiver.received).toHaveLength(value === 'literal' ? 0 : 3)
})

assumption('A29', async (value, options) => {
  const { create } = await scene(options)
  expect((await create({ events: [] })).status).toBe(value === 'refused' ? 422 : 201)
  expect((await create({ events: ['sync.failed', 'sync.failed'] })).json).toMatchObject({ events: ['sync.failed'] })
})

assumption('A30', async (value, options) => {
  const { create } = await scene(options)
  const urls = [
    'https://example.com/',
    'http://localhost/',
    'http://example.com/',
    'https://10.0.0.1/',
    'http://169.254.169.254/',
  ]
  const statuses = []
  for (const url of urls) statuses.push((await create({ url })).status)
  const told: Record<string, readonly number[]> = {
    local: [201, 201, 422, 422, 422],
    any: [201, 201, 201, 201, 422],
    strict: [201, 422, 422, 422, 422],
  }
  expect(statuses).toEqual(told[value]?.map((status) => status))
})

assumption('A31', async (value, options) => {
  const { crm, register, api, receiver } = await scene(options)
  const path = await register({ active: false })
  crm.records.create('contact')
  await crm.clock.advance('30m')
  expect(receiver.received).toEqual([])
  await api(`PUT ${path}`, { active: true })
  await crm.clock.advance(0)
  expect(receiver.received).toHaveLength(value === 'dropped' ? 0 : 1)
})

assumption('A32', async (value, options) => {
  const { crm, register, api, receiver } = await scene(options, 500, 200)
  const path = await register()
  crm.records.create('contact')
  await crm.clock.advance('10s')
  await api(`PUT ${path}`, { active: false })
  await crm.clock.advance('1m')
  expect(receiver.received).toHaveLength(1)
  await api(`PUT ${path}`, { active: true })
  await crm.clock.advance(0)
  const [delivery] = crm.deliveries.list()
  expect(receiver.received).toHaveLength(value === 'held' ? 2 : 1)
  expect(delivery?.status).toBe({ held: 'success', dropped: 'failed', counted: 'pending' }[value])
  if (value === 'counted') expect(delivery?.attempts).toMatchObject([{ failure: 'status' }, { failure: 'paused' }])
})

it.each(['held', 'dropped', 'counted'] as const)('A32 %s: a first attempt waits for the resume', async (A32) => {
  const { crm, register, api, receiver } = await scene({ assume: { A31: 'kept', A32 } }, 200)
  const path = await register()
  await api(`PUT ${path}`, { active: false })
  crm.records.create('contact')
  await crm.clock.advance('1m')
  expect(crm.deliveries.list()).toMatchObject([{ status: 'pending', attempts: [] }])
  await api(`PUT ${path}`, { active: true })
  await crm.clock.advance(0)
  expect([crm.deliveries.list()[0]?.status, receiver.received.length]).toEqual(['success', 1])
})

it('a delivery that was ended by a pause (A32) shows no sign of it once it is retried', async () => {
  const { crm, register, api } = await scene({ assume: { A32: 'dropped' } }, 500, 200)
  const path = await register()
  crm.records.create('contact')
  await crm.clock.advance(0)
  await api(`PUT ${path}`, { active: false })
  await crm.clock.advance('30s')
  const [delivery] = crm.deliveries.list()
  expect(delivery?.note).toBe('the webhook was paused')
  await api(`PUT ${path}`, { active: true })
  crm.deliveries.retry(delivery?.id ?? '')
  await crm.clock.advance(0)
  expect(crm.deliveries.list()).toMatchObject([{ status: 'success', note: undefined }])
  expect(await api(`GET ${path}/deliveries`)).toMatchObject({ json: [{ status: 'success', error: null }] })
})

assumption('A33', async (value, options) => {
  const { crm, register, api, receiver } = await scene(options, 500)
  const path = await register()
  crm.records.create('contact')
  await crm.clock.advance(0)
  await api(`DELETE ${path}`)
  await crm.clock.advance('40m')
  const log = await api(`GET ${path}/deliveries`)
  if (value === 'gone') expect(log.status).toBe(404)
  else expect(log).toMatchObject({ status: 200, json: [{ status: 'failed', error: 'the webhook was deleted' }] })
  expect(receiver.received).toHaveLength(1)
  expect((await call(crm, `GET ${path}/deliveries`, { token: await crm.login({ accountKey: 'globex' }) })).status).toBe(
    404,
  )
})

assumption('A34', async (value, options) => {
  const { crm, register, api, receiver } = await scene(options, 500)
  const path = await register()
  const other = await sink()
  crm.records.create('contact')
  await crm.clock.advance(0)
  await api(`PUT ${path}`, { url: other.url })
  await crm.clock.advance('30s')
  expect([receiver.received.length, other.received.length]).toEqual(value === 'new' ? [1, 1] : [2, 0])
  const { secret } = crm.webhooks.list()[0] ?? { secret: '' }
  const last = [...receiver.received, ...other.received].at(-1)
  expect(verify(last?.body ?? '', last?.headers['x-service-signature'], secret)).toBe(true)
})

assumption('A35', async (value, options) => {
  const { crm, create, receiver } = await scene(options)
  await create()
  await create()
  crm.records.create('contact')
  await crm.clock.advance(0)
  const ids = receiver.received.map(({ body }) => JSON.parse(String(body)).id)
  expect(new Set(ids).size).toBe(value === 'same-id' ? 1 : 2)
  expect(
    crm.deliveries
      .list()
      .map(({ eventId }) => eventId)
      .sort(),
  ).toEqual(ids.sort())
  expect(new Set(crm.deliveries.list().map(({ id }) => id)).size).toBe(2)
})

assumption('A36', async (value, options) => {
  const { crm, create, receiver } = await scene(options, 0, 200)
  await create()
  const begin = crm.clock.now()
  crm.records.create('contact')
  await crm.clock.advance('1m')
  expect(receiver.received.map(({ at }) => (at - begin) / 1_000)).toEqual([0, value === 'end' ? 40 : 30])
})

assumption('A37', async (value, options) => {
  const { crm, create } = await scene(options)
  const form = {
    hex: /^(evt_)?[0-9a-f]{24}$/,
    uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
    number: /^\d+$/,
  }[value]
  const made = [
    pick((await create()).json, '_id'),
    crm.events.emit({ type: 'sync.failed' }).id,
    crm.records.create('contact')._id,
  ]
  for (const id of made) expect(id).toMatch(form ?? '')
  expect(made[1]?.startsWith('evt_')).toBe(value === 'hex')
})

assumption('A38', async (value, options) => {
  const { crm, create, receiver } = await scene(options)
  await create({ events: ['sync.completed'] })
  crm.events.emit({ type: 'sync.completed' })
  await crm.clock.advance(0)
  const { data } = JSON.parse(String(receiver.received[0]?.body))
  const sample = { vendor: 'ledger', records: 42 }
  expect(data).toEqual(
    { sample, record: { record: { _id: expect.any(String), ...sample } }, empty: {}, missing: undefined }[value],
  )
})

assumption('A39', async (_value, options) => {
  const { crm, create, receiver } = await scene(options)
  await create({ events: ['contact.updated', 'contact.deleted'] })
  const { _id } = crm.records.create('contact', { firstName: 'Zoë' })
  crm.records.update('contact', _id, { firstName: 'Zoë' })
  expect((await call(crm, 'DELETE /_emulator/records/contact/unknown')).status).toBe(404)
  await crm.clock.advance(0)
  expect(receiver.received.map(({ body }) => JSON.parse(String(body)).type)).toEqual(['contact.updated'])
})

assumption('A40', async (value, options) => {
  const { crm, create, receiver } = await scene(options)
  await create()
  crm.records.create('contact')
  await crm.clock.advance(0)
  const signature = receiver.received[0]?.headers['x-service-signature']
  expect(signature).toMatch(value === 'lower' ? /^sha256=[0-9a-f]{64}$/ : /^sha256=[0-9A-F]{64}$/)
})

it('are all tested', () => {
  expect([...tested]).toEqual(Object.keys(ASSUMPTIONS))
})
