import { describe, expect, it } from 'vitest'
import { call, start } from './support.ts'

const FIELDS = { url: 'http://127.0.0.1:1/', events: ['a.b', 'deal.created'], active: false }

/** An emulator without a port, which keeps the deliveries of paused webhooks. */
const scene = (assume: object = {}) => start({ port: false, assume: { A31: 'kept', ...assume } })
const refusal = (kind: string, told = '') => expect.objectContaining({ kind, message: expect.stringContaining(told) })

describe('in code, an account', () => {
  it('logs in: the first one, unless another is named', async () => {
    const crm = await scene()
    crm.records.create('contact', { of: 'acme' })
    crm.records.create('contact', { of: 'globex' }, { accountKey: 'globex' })
    for (const [options, of] of [
      [undefined, 'acme'],
      [{}, 'acme'],
      [{ accountKey: undefined }, 'acme'],
      [{ accountKey: 'globex' }, 'globex'],
    ] as const) {
      const token = await crm.login(options)
      expect((await call(crm, 'GET /api/sales/contacts', { token })).json).toMatchObject([{ of }])
    }
    await expect(crm.login({ accountKey: 'nobody' })).rejects.toMatchObject({ kind: 'unknown' })
  })
})

describe('in code, a webhook', () => {
  it('is of the first account, unless another is named', async () => {
    const crm = await scene()
    const [one, two] = [
      crm.webhooks.create(FIELDS),
      crm.webhooks.create(FIELDS, { accountKey: 'globex', secret: 'mine' }),
    ]
    expect([one.accountKey, two.accountKey, two.secret]).toEqual(['acme', 'globex', 'mine'])
    expect(crm.webhooks.list()).toEqual([one, two])
    expect(crm.webhooks.list({ accountKey: 'globex' })).toEqual([two])
    expect(() => crm.webhooks.create(FIELDS, { accountKey: 'nobody' })).toThrow(refusal('unknown', '"nobody"'))
    expect(() => crm.webhooks.list({ accountKey: 'nobody' })).toThrow(refusal('unknown', '"nobody"'))
  })

  it('is read, changed and deleted by its id, whatever its account', async () => {
    const crm = await scene()
    const { id } = crm.webhooks.create(FIELDS, { accountKey: 'globex' })
    expect(crm.webhooks.update(id, { description: 'mine' })).toMatchObject({ id, description: 'mine', active: false })
    expect(crm.webhooks.resume(id).active).toBe(true)
    expect(crm.webhooks.pause(id).active).toBe(false)
    expect(crm.webhooks.get(id)).toMatchObject({ description: 'mine', active: false })
    expect(crm.webhooks.delete(id)).toBeUndefined()
    for (const act of [crm.webhooks.get, crm.webhooks.pause, crm.webhooks.delete])
      expect(() => act(id)).toThrow(refusal('unknown', 'there is no such webhook'))
    expect(crm.webhooks.list()).toEqual([])
  })
})

describe('in code, a delivery', () => {
  it('is listed by webhook, by event or by both, and read by its id', async () => {
    const crm = await scene()
    const [one, two] = [crm.webhooks.create(FIELDS).id, crm.webhooks.create(FIELDS).id]
    crm.events.emit({ type: 'a.b', id: 'first' })
    crm.events.emit({ type: 'a.b', id: 'second' })
    const list = (filter?: object) => crm.deliveries.list(filter).map(({ webhookId, eventId }) => [webhookId, eventId])
    const all = [
      [one, 'first'],
      [two, 'first'],
      [one, 'second'],
      [two, 'second'],
    ]
    expect([list(), list({}), list({ webhookId: undefined })]).toEqual([all, all, all])
    expect(list({ webhookId: two })).toEqual([all[1], all[3]])
    expect(list({ eventId: 'first' })).toEqual([all[0], all[1]])
    expect(list({ webhookId: one, eventId: 'second' })).toEqual([all[2]])
    const [first] = crm.deliveries.list()
    expect(crm.deliveries.get(first?.id ?? '')).toEqual(first)
    expect(() => crm.deliveries.get('x')).toThrow(refusal('unknown', 'there is no such delivery'))
  })
})

describe('in code, a record', () => {
  it.each([
    [undefined, 'acme'],
    [{ accountKey: 'globex' }, 'globex'],
  ])('is created, read, changed and deleted, with its events: %j', async (options, accountKey) => {
    const crm = await scene()
    crm.webhooks.create({ ...FIELDS, events: ['deal.created', 'deal.updated', 'deal.deleted'] }, { accountKey })
    const made = crm.records.create('deal', { size: 1 }, options)
    expect(crm.records.list('deal', options)).toEqual([made])
    expect(crm.records.list('deal', { accountKey: accountKey === 'acme' ? 'globex' : 'acme' })).toEqual([])
    expect(crm.records.update('deal', made._id, { size: 2 }, options)).toEqual({ ...made, size: 2 })
    expect(crm.records.get('deal', made._id, options)).toEqual({ ...made, size: 2 })
    crm.records.delete('deal', made._id, options)
    expect(() => crm.records.get('deal', made._id, options)).toThrow(refusal('unknown'))
    expect(crm.deliveries.list().map((each) => [each.accountKey, each.eventType])).toEqual(
      ['created', 'updated', 'deleted'].map((action) => [accountKey, `deal.${action}`]),
    )
  })
})

describe('in code, an event', () => {
  it('is emitted once, or as often as requested, for the first account or another', async () => {
    const crm = await scene()
    for (const accountKey of ['acme', 'globex']) crm.webhooks.create(FIELDS, { accountKey })
    const one = crm.events.emit({ type: 'a.b' })
    expect(one).toEqual({ id: expect.stringMatching(/^evt_/), type: 'a.b', deliveries: [crm.deliveries.list()[0]?.id] })
    expect(crm.events.emitMany({ type: 'a.b' }, 3, { accountKey: 'globex' })).toHaveLength(3)
    expect(crm.deliveries.list().map(({ accountKey }) => accountKey)).toEqual(['acme', ...new Array(3).fill('globex')])
    expect(crm.events.emit({ type: 'x.y' }).deliveries).toEqual([])
  })
})
