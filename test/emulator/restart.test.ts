import type { Emulator, EmulatorOptions } from 'postern/emulator'
import { describe, expect, it } from 'vitest'
import { call, makeDatabase, sink, start, until } from './support.ts'

const EVENTS = ['contact.created']

/** Returns the answers to all queries of an emulator, in its order. */
async function readAll(crm: Emulator) {
  const { bootId: _bootId, ...state } = Object((await call(crm, 'GET /_emulator/state')).json)
  return {
    state,
    accounts: crm.accounts.list(),
    webhooks: crm.webhooks.list(),
    records: crm.accounts
      .list()
      .map(({ key }) => ['contact', 'opportunity'].map((model) => crm.records.list(model, { accountKey: key }))),
    // without the numbers of the present run
    deliveries: crm.deliveries.list().map((delivery) => ({ ...delivery, ticket: 0, made: 0, change: 0 })),
    logs: crm.webhooks.list().map(({ id }) => crm.deliveries.list({ webhookId: id }).map((each) => each.id)),
  }
}

/** Starts an emulator, does `work` there, closes it, and starts the next one on the same database. */
async function restart(options: EmulatorOptions, work: (crm: Emulator) => Promise<void>) {
  const database = makeDatabase()
  const one = await start({ ...options, database })
  await work(one)
  const before = await readAll(one)
  await one.close()
  const two = await start({ ...options, database })
  return { crm: two, before, after: await readAll(two) }
}

describe('after a restart', () => {
  it('everything is unchanged: accounts, webhooks, records, deliveries in each state, their order and the clock', async () => {
    const receiver = await sink(Date, 500)
    const { before, after } = await restart(
      { accounts: [{ key: 'third', email: 't@t', password: 'p' }] },
      async (crm) => {
        const create = (fields: object = {}, accountKey?: string) =>
          crm.webhooks.create({ url: receiver.url, events: EVENTS, ...fields }, { accountKey })
        const [first, paused, , gone] = [
          create({ description: 'mine' }),
          create({ active: false }),
          create({}, 'third'),
          create({ events: ['sync.failed'] }),
        ]
        const { _id } = crm.records.create('contact', { firstName: 'Zoë', tags: ['a', { b: null }] })
        crm.records.create('opportunity', { size: 1.5 }, { accountKey: 'third' })
        crm.records.create('contact', { _id: 'chosen' }, { accountKey: 'third' })
        crm.records.update('contact', _id, { status: 'won' })
        crm.records.delete('contact', crm.records.create('contact')._id)
        crm.events.emit({ type: 'sync.failed' })
        await crm.clock.advance('31s')
        crm.webhooks.update(first.id, { events: [...EVENTS, 'sync.completed'] })
        crm.webhooks.resume(paused.id)
        crm.webhooks.pause(paused.id)
        crm.webhooks.delete(gone.id)
        await crm.clock.advance('3h')
        receiver.answers = [200]
        crm.deliveries.retry(crm.deliveries.list()[0]?.id ?? '')
        await crm.clock.advance(0)
        receiver.answers = [503]
        crm.records.create('contact')
        crm.deliveries.resend(crm.deliveries.list()[1]?.id ?? '', { body: '', sign: 'none' })
        crm.deliveries.resend(crm.deliveries.list()[1]?.id ?? '', { body: '{"edited":1}', sign: 'stale-bytes' })
        await crm.clock.advance('40s')
      },
    )
    expect(after.webhooks).toStrictEqual(before.webhooks)
    expect(after).toEqual(before)
    expect(new Set(before.deliveries.map(({ status }: { status?: string }) => status))).toEqual(
      new Set(['success', 'failed', 'pending']),
    )
  })

  it.each(['gone', 'kept'] as const)('a deletion that cannot be written changes nothing, log %s', async (A33) => {
    const database = makeDatabase()
    const receiver = await sink(Date, 500, 200)
    const one = await start({ database, assume: { A33 } })
    const { id } = one.webhooks.create({ url: receiver.url, events: EVENTS })
    one.records.create('contact')
    await one.clock.advance(0)
    const change = A33 === 'gone' ? 'DELETE' : 'UPDATE'
    database.exec(
      `CREATE TRIGGER full BEFORE ${change} ON entries WHEN old.kind = 'delivery' BEGIN SELECT RAISE(ABORT, 'no room'); END`,
    )
    expect(() => one.webhooks.delete(id)).toThrow(expect.objectContaining({ code: 'database_unusable' }))
    expect(one.webhooks.list()).toHaveLength(1)
    expect(one.deliveries.list()).toMatchObject([{ status: 'pending' }])
    await one.close()
    database.exec('DROP TRIGGER full')
    const two = await start({ database, assume: { A33 } })
    expect(two.webhooks.list()).toHaveLength(1)
    await two.clock.next()
    expect(two.deliveries.list()).toMatchObject([{ status: 'success', attempts: [{}, {}] }])
  })

  it('an attempt that the close cut off is repeated, with the same number', async () => {
    const database = makeDatabase()
    const receiver = await sink(Date, 0, 200)
    const one = await start({ database })
    one.webhooks.create({ url: receiver.url, events: ['contact.created'] })
    one.records.create('contact')
    await until(() => receiver.received.length === 1)
    await one.close()
    const two = await start({ database })
    await two.clock.advance(0)
    expect(two.deliveries.list()).toMatchObject([{ status: 'success', attempts: [{ number: 1 }] }])
    expect(receiver.received).toHaveLength(2)
  })
})
