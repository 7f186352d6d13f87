import { deepStrictEqual } from 'node:assert/strict'
import { createReceiver, type WebhookEvent } from 'postern'
import { contact } from 'postern/models'
import { createEvents, type EventBuilders, events, manualClock, signed } from 'postern/testing'
import { describe, expect, it, vi } from 'vitest'
import { SERVICE_EVENT_TYPES } from '../../src/protocol/events.ts'

interface Opportunity {
  readonly _id: string
  readonly title: string
}

/** One event of each builder, by its type. */
const builders: Readonly<Record<string, (from: EventBuilders) => WebhookEvent<string, unknown>>> = {
  'contact.created': (from) => from.contact.created(),
  'contact.updated': (from) => from.contact.updated(),
  'contact.deleted': (from) => from.contact.deleted(),
  'opportunity.created': (from) => from.model<Opportunity>('opportunity').created({ title: 'Roof' }),
  'opportunity.updated': (from) => from.model('opportunity').updated(),
  'opportunity.deleted': (from) => from.model('opportunity').deleted(),
  'finance.payment.completed': (from) => from.paymentCompleted(),
  'finance.payment.failed': (from) => from.paymentFailed(),
  'sync.completed': (from) => from.syncCompleted(),
  'sync.failed': (from) => from.syncFailed(),
  'import.completed': (from) => from.importCompleted(),
  'export.completed': (from) => from.exportCompleted(),
  'invoice.paid': (from) => from.raw('invoice.paid', { total: 7 }),
}
const all = Object.entries(builders)
const buildAll = (from: EventBuilders) => all.map(([, build]) => build(from))

describe('the builders', () => {
  it('exist for every event type of the service', () => {
    expect(Object.keys(builders)).toEqual(expect.arrayContaining([...SERVICE_EVENT_TYPES]))
  })

  it.each(all)('of %s return an event as the service sends it, equal to what its handler gets', async (type, build) => {
    const event = build(events)
    expect(event).toMatchObject({ type, id: expect.stringMatching(/^evt_[0-9a-f]{24}$/), accountKey: 'acme' })
    expect(new Date(event.timestamp).toISOString()).toBe(event.timestamp)
    const delivery = signed(event, { secret: 'secret' })
    const sent = Object(JSON.parse(delivery.body.toString()))
    expect(Object.keys(sent)).toEqual(['id', 'type', 'timestamp', 'accountKey', 'data'])
    const models = { contact, opportunity: contact }
    const got: unknown[] = []
    const create = () => createReceiver({ secret: 'secret', models }).on('*', (seen) => void got.push(seen))
    const receiver = create()
    expect(await receiver.receive(delivery)).toMatchObject({ outcome: 'handled', id: event.id })
    expect(await receiver.dispatch(event)).toMatchObject({ outcome: 'duplicate' })
    await create().dispatch(event)
    deepStrictEqual(got, [event, event])
  })

  it('replace their samples by the passed fields', () => {
    const created = events.contact.created({ _id: 'c1', email: null })
    expect(created.data.record).toMatchObject({ _id: 'c1', email: null, firstName: 'Zoë' })
    expect(events.contact.deleted('c1').data).toEqual({ record: { _id: 'c1' } })
    expect(events.model<Opportunity>('opportunity').created({ title: 'Roof' }).data.record).toEqual({
      _id: expect.any(String),
      title: 'Roof',
    })
    expect(events.syncFailed({ why: 'x' }).data).toEqual({ why: 'x' })
    expect(events.raw('invoice.paid').data).toEqual({})
  })

  it('put the passed envelope fields into it', () => {
    const envelope = { id: 'evt_1', accountKey: 'globex', timestamp: '2025-01-01T00:00:00.000Z' }
    for (const event of [
      events.contact.updated({}, envelope),
      events.contact.deleted(undefined, envelope),
      events.paymentFailed(undefined, envelope),
      events.raw('invoice.paid', {}, envelope),
    ])
      expect(event).toMatchObject(envelope)
  })

  it('take fields of a custom record that a contact does not have', () => {
    const fields = { _id: 'o1', accountKey: 'x', timestamp: 'y', id: 'z' }
    expect(events.model('opportunity').created(fields).data.record).toEqual(fields)
    expect(events.raw('a.created', { data: {} }).data).toEqual({ data: {} })
  })

  it('warn of a timestamp that is not ISO 8601, but for raw(), which makes wrong events too', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    events.raw('sync.failed', {}, { timestamp: 'last week' })
    for (const timestamp of ['2025-01-01', '2025-01-01T02:00:00.123456+02:00', undefined])
      events.contact.created({}, { timestamp })
    expect(warn).not.toHaveBeenCalled()
    events.contact.deleted('c1', { timestamp: 'last week' })
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/^events\.contact\.deleted: timestamp is "last week", .* events\.raw/), 'PosternWarning'],
    ])
  })

  it('share nothing between events', () => {
    const [one, other] = [events.contact.created(), events.contact.created()]
    expect(one.data.record).not.toBe(other.data.record)
    const [first, second] = [events.syncCompleted(), events.syncCompleted()]
    Object.assign(first.data, { records: 'changed' })
    expect(second.data.records).toBe(42)
    expect(events.syncCompleted().data.records).toBe(42)
  })
})

describe('with a seed', () => {
  it('the same calls return the same events', () => {
    expect(buildAll(createEvents({ seed: 'a' }))).toEqual(buildAll(createEvents({ seed: 'a' })))
    expect(buildAll(createEvents({ seed: 7 }))).toEqual(buildAll(createEvents({ seed: 7 })))
  })

  it('ids differ from event to event and from seed to seed', () => {
    const seeds = ['a', 'b', '', 0, 1, 10].flatMap((seed) => [
      ...buildAll(createEvents({ seed })),
      ...buildAll(createEvents({ seed: `${seed}:1` })),
    ])
    expect(new Set(seeds.map(({ id }) => id)).size).toBe(seeds.length)
  })

  it("time advances from event to event, whatever the machine's clock", () => {
    const times = buildAll(createEvents({ seed: 'a' })).map(({ timestamp }) => timestamp)
    expect(times).toEqual([...new Set(times)].toSorted())
    expect(times[0]).toMatch(/^2025-01-01T00:00:0/)
  })
})

describe('with a clock', () => {
  it.each([undefined, 'a'])('the timestamps are its time, with the seed %s', async (seed) => {
    const clock = manualClock('2025-06-01T00:00:00Z')
    const from = createEvents({ clock, seed })
    await clock.advance('2h')
    expect(from.syncFailed().timestamp).toBe('2025-06-01T02:00:00.000Z')
  })
})

describe('without a seed', () => {
  it('no id occurs twice', () => {
    const ids = Array.from({ length: 1_000 }, () => events.contact.created()).flatMap(({ id, data }) => [
      id,
      data.record._id,
    ])
    expect(new Set(ids).size).toBe(2_000)
    expect(createEvents().syncCompleted().id).not.toBe(createEvents().syncCompleted().id)
  })

  it('the time is now', () => {
    expect(Math.abs(Date.parse(events.syncCompleted().timestamp) - Date.now())).toBeLessThan(10_000)
  })
})
