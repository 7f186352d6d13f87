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
    ['none', 25, '?page=2&cursor=20&limit=5', 25, undefined],
    ['pages', 20, '?page=2', 5, undefined],
    ['cursor', 20, '?cursor=20', 5, '20'],
  ])('are listed in parts if that is assumed: %s (A08)', async (A08, first, query, next, cursor) => {
    const { ask, create } = await scene({ A08, A04: 'items' })
    for (let made = 0; made < 25; made++) create()
    const all = await ask('GET ')
    expect([pick(all.json, 'items', 'length'), Object(all.json).nextCursor]).toEqual([String(first), cursor])
    expect(pick((await ask(`GET ${query}`)).json, 'items', 'length')).toBe(String(next))
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
    ['oldest', 105, '?limit=3', 105],
    ['newest', 100, '?limit=3', 3],
  ])('lists its entries, %s first (A11)', async (A11, count, query, fewer) => {
    const { ask, crm, create } = await scene({ A11 })
    const { id } = create()
    crm.events.emitMany({ type: 'a.b' }, 105)
    const ids = crm.deliveries.list().map((each) => each.id)
    const read = async (given = '') => {
      const { json } = await ask(`GET /${id}/deliveries${given}`)
      return (Array.isArray(json) ? json : []).map((each) => pick(each, '_id'))
    }
    const ordered = A11 === 'oldest' ? ids : ids.toReversed()
    expect(await read()).toEqual(ordered.slice(0, count))
    expect(await read(query)).toEqual(ordered.slice(0, fewer))
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
