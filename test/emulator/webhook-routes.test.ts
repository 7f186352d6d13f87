import type { EmulatorOptions } from 'postern/emulator'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { call, pick, start } from './support.ts'

const WEBHOOKS = '/api/integrations/webhooks'
const NOW = '2026-01-01T00:00:00.000Z'
const FIELDS = { url: 'http://localhost/', events: ['a.b'] }

/** An emulator without a port, which keeps the deliveries of paused webhooks. */
async function scene(assume: object = {}, options: EmulatorOptions = {}) {
  const crm = await start({ port: false, clock: manualClock(NOW), assume: { A31: 'kept', ...assume }, ...options })
  const token = await crm.login()
  const ask = (line: string, body?: unknown) => call(crm, line.replace(' ', ` ${WEBHOOKS}`), { token, body })
  const create = (fields: object = {}) => crm.webhooks.create({ ...FIELDS, active: false, ...fields })
  return { crm, ask, create }
}

describe('the webhooks of an account', () => {
  it.each([
    ['200', 200],
    ['201', 201],
  ])('get a registration, answered with %s (A02), with its secret', async (A02, status) => {
    const { ask, crm } = await scene({ A02, A03: 'data' })
    const answer = await ask('POST ', { ...FIELDS, stray: 1 })
    const [{ id, secret } = { id: '', secret: '' }] = crm.webhooks.list()
    expect([answer.status, answer.json]).toEqual([status, { _id: id, ...FIELDS, active: true, secret, createdAt: NOW }])
    expect((await ask('POST ', {})).status).toBe(422)
    expect((await ask('POST ', [])).status).toBe(422)
  })

  it('are listed and read without their secrets, and only their own', async () => {
    const { ask, crm, create } = await scene()
    const { id, secret: _secret, accountKey: _accountKey, description: _description, ...shown } = create()
    const foreign = crm.webhooks.create(FIELDS, { accountKey: 'globex' })
    expect((await ask('GET ')).json).toEqual([{ _id: id, ...shown }])
    expect((await ask(`GET /${id}`)).json).toEqual({ _id: id, ...shown })
    for (const line of [`GET /${foreign.id}`, `DELETE /${foreign.id}`, `GET /${foreign.id}/deliveries`, 'GET /x'])
      expect((await ask(line)).status).toBe(404)
    expect((await ask(`PUT /${foreign.id}`, {})).status).toBe(404)
    expect((await ask('PUT /x', 'no JSON')).status).toBe(404)
    expect(crm.webhooks.get(foreign.id)).toEqual(foreign)
  })

  it.each([
    ['none', '', '0-24'],
    ['none', '?page=2&cursor=20&limit=no', '0-24'],
    ['pages', '', '0-19'],
    ['pages', '?page=3&limit=10&cursor=5', '20-24'],
    ['pages', '?page=2&limit=7', '7-13'],
    ['pages', '?limit=21', '0-19'],
    ['pages', '?page=999999999', ''],
    ['cursor', '', '0-19, next 20'],
    ['cursor', '?cursor=5&page=3', '5-24'],
    ['cursor', '?cursor=4', '4-23, next 24'],
    ['cursor', '?limit=2&cursor=3', '3-4, next 5'],
    ['cursor', '?cursor=999999999', ''],
    ['pages', '?page=0', '422 page: must be'],
    ['pages', '?page=1x', '422 page: must be'],
    ['pages', '?limit=', '422 limit: must be'],
    ['cursor', '?cursor=', '422 cursor: there is'],
    ['cursor', '?cursor=x1', '422 cursor: there is'],
  ])('are listed in parts if that is assumed: %s (A08), %s', async (A08, query, part) => {
    const { ask, crm, create } = await scene({ A08, A04: 'items' })
    for (let made = 0; made < 25; made++) create()
    const { status, json } = await ask(`GET ${query}`)
    const { items = [], total, nextCursor, message = '' } = Object(json)
    if (status !== 200) return expect(`${status} ${message.slice(0, part.length - 4)}`).toBe(part)
    const places = items.map(({ _id }: { _id: string }) => crm.webhooks.list().findIndex(({ id }) => id === _id))
    const listed = places.length === 0 ? '' : `${places[0]}-${places.at(-1)}`
    expect([nextCursor === undefined ? listed : `${listed}, next ${nextCursor}`, total]).toEqual([part, 25])
    expect(places).toEqual(places.toSorted((one: number, two: number) => one - two))
  })

  it('are changed, with the fields that the service knows', async () => {
    const { ask, crm, create } = await scene()
    const { id } = create()
    const changed = await ask(`PUT /${id}`, { description: 'mine', stray: 1 })
    expect(changed).toMatchObject({ status: 200, json: { _id: id, description: 'mine', active: false } })
    expect(crm.webhooks.get(id).description).toBe('mine')
    expect((await ask(`PUT /${id}`, { active: 'no' })).status).toBe(422)
    expect((await ask(`PUT /${id}`, null)).status).toBe(422)
  })

  it('refuse other fields if that is assumed, and change nothing (A07)', async () => {
    const { ask, crm, create } = await scene({ A07: 'strict' })
    const { id } = create()
    const refused = await ask(`PUT /${id}`, { description: 'mine', toString: 1 })
    expect(refused).toMatchObject({ status: 400, json: { message: 'there is no field "toString"' } })
    expect(crm.webhooks.get(id).description).toBeUndefined()
    const all = { url: 'http://localhost/new', events: ['b.c'], description: 'mine', active: false }
    expect((await ask(`PUT /${id}`, all)).status).toBe(200)
    expect(crm.webhooks.get(id)).toMatchObject(all)
  })

  it('that are resumed get what was waiting, and those that stay paused do not', async () => {
    const { ask, crm, create } = await scene()
    const { id } = create({ url: 'http://127.0.0.1:1/' })
    crm.events.emit({ type: 'a.b' })
    await ask(`PUT /${id}`, { description: 'mine' })
    await crm.clock.advance(0)
    expect(crm.deliveries.list()).toMatchObject([{ attempts: [] }])
    await ask(`PUT /${id}`, { active: true })
    await crm.clock.advance(0)
    expect(crm.deliveries.list()).toMatchObject([{ attempts: [{ failure: 'refused' }] }])
  })

  it.each([
    ['204', 204, undefined],
    ['200', 200, undefined],
    ['success', 200, { success: true }],
    ['object', 200, { _id: expect.any(String), ...FIELDS, active: false, createdAt: NOW }],
  ])('are deleted, answered with %s (A06)', async (A06, status, json) => {
    const { ask, crm, create } = await scene({ A06 })
    const answer = await ask(`DELETE /${create().id}`)
    expect([answer.status, answer.json, crm.webhooks.list()]).toEqual([status, json, []])
  })
})

describe('the delivery log of a webhook', () => {
  it.each([
    ['oldest', 'limit=3', 0, 105],
    ['newest', '', 104, 5],
    ['newest', 'limit=3', 104, 102],
    ['newest', 'limit=101', 104, 5],
    ['newest', 'limit=2&page=5&before=9', 8, 7],
    ['newest', 'before=2', 1, 0],
    ['newest', 'before=0', 0, undefined],
  ])('lists its entries, %s first (A11): %s', async (A11, query, first, last) => {
    const { ask, crm, create } = await scene({ A11 })
    const { id } = create()
    crm.events.emitMany({ type: 'a.b' }, 105)
    const ids = crm.deliveries.list().map((each) => each.id)
    const filled = query.replace(/before=(\d+)/, (_, place) => `before=${ids[Number(place)]}`)
    const { json } = await ask(`GET /${id}/deliveries?${filled}`)
    const listed = (Array.isArray(json) ? json : []).map((each) => pick(each, '_id'))
    if (last === undefined) expect(listed).toEqual([])
    else expect(listed).toEqual(first < last ? ids : ids.slice(last, first + 1).toReversed())
    const refused = await ask(`GET /${id}/deliveries?before=x`)
    if (A11 === 'newest') expect(refused).toMatchObject({ status: 422, json: { message: /^before: there is no such/ } })
  })

  it('has the assumed form, as the list of webhooks has', async () => {
    const { ask, crm, create } = await scene({ A04: 'named' })
    const { id } = create()
    crm.events.emit({ type: 'a.b' })
    expect((await ask(`GET /${id}/deliveries`)).json).toEqual({
      deliveries: [expect.objectContaining({ attempts: 0 })],
    })
    expect((await ask('GET ')).json).toEqual({ webhooks: [expect.objectContaining({ _id: id })] })
  })

  it.each([
    ['202', 202, expect.objectContaining({ status: 'pending' })],
    ['200', 200, expect.objectContaining({ status: 'pending' })],
    ['204', 204, undefined],
    ['empty', 200, undefined],
    ['success', 200, { success: true }],
  ])('takes the retry of a failed delivery, answered with %s (A12)', async (A12, status, json) => {
    const { ask, crm, create } = await scene({ A12, A32: 'dropped' })
    const { id } = create({ url: 'http://127.0.0.1:1/', active: true })
    const [deliveryId] = crm.events.emit({ type: 'a.b' }).deliveries
    await crm.clock.advance(0)
    expect((await ask(`POST /${id}/retry/${deliveryId}`)).status).toBe(409)
    crm.webhooks.pause(id)
    await crm.clock.advance('30s')
    crm.webhooks.resume(id)
    const answer = await ask(`POST /${id}/retry/${deliveryId}`)
    expect([answer.status, answer.json]).toEqual([status, json])
    expect(crm.deliveries.get(deliveryId ?? '').status).toBe('pending')
    expect((await ask(`POST /${id}/retry/x`)).status).toBe(404)
  })
})

it('contacts are listed by pages of 50, of the account of the token', async () => {
  const { crm } = await scene({ A16: 'docs' })
  for (let made = 0; made < 60; made++) crm.records.create('contact', { _id: `c${made}` })
  crm.records.create('deal')
  crm.records.create('contact', { _id: 'theirs' }, { accountKey: 'globex' })
  const read = async (query: string, accountKey = 'acme') =>
    (await call(crm, `GET /api/sales/contacts${query}`, { token: await crm.login({ accountKey }) })).json
  expect(await read('?page=2')).toEqual({ docs: crm.records.list('contact').slice(50), page: 2 })
  expect(pick(await read(''), 'docs', 'length')).toBe('50')
  expect(await read('', 'globex')).toEqual({ docs: [{ _id: 'theirs' }], page: 1 })
})
