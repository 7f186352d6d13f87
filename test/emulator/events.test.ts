import type { EmulatorOptions } from 'postern/emulator'
import { describe, expect, it } from 'vitest'
import type { FeedMessage } from '../../tools/emulator/feed.ts'
import { SAMPLES } from '../../tools/wire/samples.ts'
import { makeService, refusal } from './support.ts'

/** A service that is not waited for: its first attempts are under way. */
function make(options: EmulatorOptions = {}) {
  const service = makeService(options)
  const messages: FeedMessage[] = []
  service.feed.subscribe((message) => messages.push(message))
  const register = (events: readonly string[], fields: object = {}, accountKey = 'acme') =>
    service.webhooks.create(accountKey, { url: 'http://127.0.0.1:1/', events, ...fields }).id
  const bodies = () => service.log.list().map(({ bytes }) => JSON.parse(new TextDecoder().decode(bytes)))
  return { ...service, messages, register, bodies }
}

const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))

describe('an event', () => {
  it('is delivered to each active webhook of its account that is subscribed to its type', () => {
    const { events, log, register, bodies, messages, clock } = make()
    const [one, two] = [register(['sync.failed']), register(['a.created', 'sync.failed'])]
    register(['a.created'])
    register(['sync.failed'], { active: false })
    register(['sync.failed'], {}, 'globex')
    messages.splice(0)
    const [emitted] = events.emit('acme', { type: 'sync.failed', data: { a: 1 } })
    const at = clock.now()
    expect(log.list()).toMatchObject([{ webhookId: one }, { webhookId: two }])
    expect(emitted).toEqual({
      id: expect.stringMatching(/^evt_/),
      type: 'sync.failed',
      deliveries: log.list().map(({ id }) => id),
    })
    const event = { id: emitted?.id, type: 'sync.failed', timestamp: new Date(at).toISOString(), accountKey: 'acme' }
    expect(bodies()).toEqual([
      { ...event, data: { a: 1 } },
      { ...event, data: { a: 1 } },
    ])
    expect(messages).toEqual(log.list().map((delivery) => ({ type: 'delivery', delivery })))
  })

  it('keeps the given id, timestamp and data, even null, and takes undefined as left out', () => {
    const { events, register, bodies } = make()
    register(['a.b'])
    const input = { id: 'mine', type: 'a.b', timestamp: 'long ago' }
    events.emit('acme', { ...input, data: null })
    events.emit('acme', { ...input, data: undefined })
    expect(bodies()).toEqual([
      { ...input, accountKey: 'acme', data: null },
      { ...input, accountKey: 'acme', data: {} },
    ])
  })

  it('has an id of its own for each further webhook if that is assumed (A35)', () => {
    const { events, log, register, bodies } = make({ assume: { A35: 'own-ids' } })
    for (let made = 0; made < 3; made++) register(['a.b'])
    const [emitted] = events.emit('acme', { type: 'a.b' })
    const ids = bodies().map(({ id }) => id)
    expect([ids[0], new Set(ids).size]).toEqual([emitted?.id, 3])
    expect(log.list().map(({ eventId }) => eventId)).toEqual(ids)
  })

  it('above the bytes of pending deliveries is refused', () => {
    const { events, register, log, records } = make()
    for (let made = 0; made < 100; made++) register(['a.b', 'a.created'])
    const data = 'x'.repeat(2_700_000)
    expect(() => events.emit('acme', { type: 'a.b', data })).toThrow(refusal('full', '256 MiB'))
    expect(() => events.emit('acme', { type: 'a.b', data: data.slice(0, 1_400_000) }, 2)).toThrow(
      refusal('full', '256'),
    )
    expect(() => events.deliver('acme', bytesOf({ id: 'x', type: 'a.b', data }))).toThrow(refusal('full', '256 MiB'))
    expect(() => records.create('acme', 'a', { data })).toThrow(refusal('full', '256 MiB'))
    expect([log.size, records.count()]).toEqual([0, 0])
  })
})

describe('sample data', () => {
  it.each(['created', 'updated'])('of a contact that is %s is a record', (action) => {
    const { events } = make()
    const record = { _id: expect.stringMatching(/^[0-9a-f]{24}$/), ...SAMPLES.contact }
    expect(events.sampleOf(`contact.${action}`)).toEqual({ record })
    expect(events.sampleOf(`deal.${action}`)).toEqual({ record: { _id: expect.any(String) } })
  })

  it('of a deletion is an id alone', () => {
    expect(make().events.sampleOf('contact.deleted')).toEqual({ record: { _id: expect.any(String) } })
  })

  it.each([
    ['sample', SAMPLES['sync.failed'], {}],
    [
      'record',
      { record: { _id: expect.any(String), ...SAMPLES['sync.failed'] } },
      { record: { _id: expect.any(String) } },
    ],
    ['empty', {}, {}],
    ['missing', undefined, undefined],
  ])('of another event has the form %s (A38)', (A38, known, unknown) => {
    const { events, register, bodies } = make({ assume: { A38 } as object })
    expect([events.sampleOf('sync.failed'), events.sampleOf('invoice.paid')]).toEqual([known, unknown])
    register(['sync.failed'])
    events.emit('acme', { type: 'sync.failed' })
    expect(bodies()[0].data).toEqual(known)
  })
})

describe('a body that is delivered as it is', () => {
  it('goes to the webhooks that are subscribed to its type, with its id', () => {
    const { events, log, register, messages } = make()
    const [one, two] = [register(['a.b']), register(['a.b'])]
    register(['b.c'])
    messages.splice(0)
    const body = bytesOf({ id: 'x', type: 'a.b', accountKey: 'nobody' })
    const told = events.deliver('acme', body)
    expect(told).toEqual({ id: 'x', type: 'a.b', deliveries: log.list().map(({ id }) => id) })
    const about = { eventId: 'x', eventType: 'a.b', bytes: body, accountKey: 'acme', remaining: 5 }
    expect(log.list()).toMatchObject([
      { ...about, webhookId: one },
      { ...about, webhookId: two },
    ])
    expect(messages).toHaveLength(2)
  })

  it.each([
    [{ type: 'a.b' }, 'its id must be a string'],
    [{ id: 'x'.repeat(1_025), type: 'a.b' }, 'its id must be a string'],
    [{ id: 'x', type: 7 }, 'its type must be a string'],
    [{ id: 'x', type: 'x'.repeat(257) }, 'its type must be a string'],
    [null, 'its id must be a string'],
  ])('is refused if it is no event', (body, told) => {
    const { events, log } = make()
    expect(() => events.deliver('acme', bytesOf(body))).toThrow(refusal('invalid', `the body is not an event: ${told}`))
    expect(log.size).toBe(0)
  })
})
