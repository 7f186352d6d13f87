import { createReceiver, type Inbox, RetryLater, receiveFrom } from 'postern'
import { github } from 'postern/senders'
import { events } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { Scene, SECRET, until } from './scene.ts'

const { created, updated, deleted } = events.contact

describe('the option lane', () => {
  it.each<[string, (inbox: Inbox) => Inbox | undefined]>([
    ['without an inbox', () => undefined],
    ['with an inbox that keeps no lanes', (inbox) => ({ ...inbox, keepsLanes: undefined })],
  ])('is refused %s', (_, toInbox) => {
    const inbox = toInbox(new Scene().inbox)
    expect(() => createReceiver({ secret: SECRET, inbox, lane: 'record' })).toThrow(
      'lane needs an inbox that keeps lanes: sqliteInbox or postgresInbox. bullmqInbox has none, since BullMQ has groups in its paid edition only.',
    )
  })

  it('takes a function only for events of another sender, which are about no records', () => {
    const { inbox } = new Scene()
    const lane = 'record' as unknown as () => string // plain JavaScript may pass it
    expect(() => receiveFrom(github(), { secret: SECRET, inbox, lane })).toThrow(/lane is 'record'.*give a function/)
    receiveFrom(github(), { secret: SECRET, inbox, lane: ({ id }) => id })
  })

  it('puts the events of a record of an account into one lane, and others into none of the same', async () => {
    const scene = new Scene({ lane: 'record' })
    scene.receiver.on('*', () => {})
    const of = (id: string) => [created({ _id: id }), updated({ _id: id }), deleted(id)]
    const other = { ...created({ _id: 'c1' }), accountKey: 'other' }
    const company = { ...created({ _id: 'c1' }), type: 'company.created' }
    const bare = { ...created(), data: {}, type: 'import.done' }
    for (const event of [...of('c1'), ...of('c2'), other, company, bare]) await scene.deliver(event)
    const { entries } = await scene.inbox.list('waiting')
    expect(new Set(entries.map(({ lane }) => lane)).size).toBe(5)
    expect(await scene.inbox.counts()).toMatchObject({ waiting: 9, parked: 4 })
  })

  it('takes the text of a function, which sees the event as handlers do', async () => {
    const scene = new Scene({ lane: (event) => ('model' in event ? Object(event.data).record.email : undefined) })
    scene.receiver.on('*', () => {})
    const email = 'zoe@example.test'
    const imported = { ...created({ email }), type: 'import' }
    for (const event of [created({ email }), updated({ email }), created({ email: 'other@example.test' }), imported])
      await scene.deliver(event)
    const { entries } = await scene.inbox.list('waiting')
    expect(entries.map(({ lane }) => lane?.endsWith(`${email.length}:${email}`) ?? 'none').sort()).toEqual([
      false,
      'none',
      true,
      true,
    ])
    expect(await scene.inbox.counts()).toMatchObject({ parked: 1 })
  })

  it.each<[string, () => unknown]>([
    ['throws', () => JSON.parse('{')],
    ['returns a number', () => 7],
    ['returns an empty text', () => ''],
    ['returns a promise', async () => JSON.parse('{')],
  ])('accepts an event without a lane if the function %s, and reports it', async (_, lane) => {
    const scene = new Scene({ lane: lane as () => string }) // as from JavaScript
    scene.receiver.on('*', () => {})
    for (const event of [created(), created()])
      expect(await scene.deliver(event)).toMatchObject({ outcome: 'accepted' })
    expect(await scene.inbox.counts()).toMatchObject({ waiting: 2, parked: 0 })
    expect(
      scene.errors.map(({ code, message, cause }) => [code, message.slice(0, 11), cause instanceof Error]),
    ).toEqual([
      ['hook_failed', 'lane failed', true],
      ['hook_failed', 'lane failed', true],
    ])
  })
})

describe('an event whose next try is', () => {
  it.each<[string, () => Error, number, boolean]>([
    ['90 s away keeps its lane', () => new Error('not yet'), 90_000, false],
    ['further away lets the others of its lane go on', () => new Error('not yet'), 90_001, true],
    ['further away by RetryLater does so, too', () => new RetryLater(90_001), 0, true],
  ])('%s', async (_, makeError, delayMs, goesOn) => {
    const scene = new Scene({ lane: 'record' })
    const seen: string[] = []
    scene.receiver.on('contact.*', ({ type }) => {
      seen.push(type)
      if (type === 'contact.created') throw makeError()
    })
    await scene.deliver(created({ _id: 'c1' }))
    await scene.deliver(updated({ _id: 'c1' }))
    await scene.deliver(deleted('c2'))
    scene.work({ delay: () => delayMs, attempts: 2, concurrency: 1 })
    await until(
      'the others ran',
      async () => seen.includes('contact.deleted') && (await scene.inbox.counts()).running === 0,
    )
    if (goesOn) await until('it went on', () => seen.includes('contact.updated'))
    expect(seen.includes('contact.updated')).toBe(goesOn)
    expect(await scene.inbox.counts()).toMatchObject({ parked: goesOn ? 0 : 1, oldestDueAt: undefined })
  })
})
