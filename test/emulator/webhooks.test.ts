import { manualClock, silentLogger } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { assumeAll } from '../../tools/emulator/dialects.ts'
import { Feed, type FeedMessage } from '../../tools/emulator/feed.ts'
import { type Journal, openJournal } from '../../tools/emulator/journal.ts'
import { createIds, createRandom } from '../../tools/emulator/random.ts'
import { type WebhookFields, Webhooks } from '../../tools/emulator/webhooks.ts'
import { makeDatabase } from './support.ts'

const FIELDS: WebhookFields = { url: 'http://localhost/', events: ['sync.failed'] }
const refusal = (kind: string, told = '') => expect.objectContaining({ kind, message: expect.stringContaining(told) })

function make(assume: Readonly<Record<string, string>> = {}, journal: Journal = openJournal()) {
  const feed = new Feed(silentLogger)
  const messages: FeedMessage[] = []
  feed.subscribe((message) => messages.push(message))
  const parts = { journal, clock: manualClock('2026-01-01T00:00:00Z'), ids: createIds(createRandom(), 'hex'), feed }
  return { webhooks: new Webhooks({ ...parts, assumed: assumeAll('default', assume), maxPerAccount: 3 }), messages }
}

function makeJournal(): Journal {
  const database = makeDatabase()
  return openJournal(database)
}

const write = (work: () => void) => work()

describe('a registration', () => {
  it('gets an id, a secret and its time, and is announced', () => {
    const { webhooks, messages } = make()
    const made = webhooks.create('a', FIELDS)
    expect(made).toStrictEqual({
      ...{
        id: expect.stringMatching(/^[0-9a-f]{24}$/),
        accountKey: 'a',
        ...FIELDS,
        description: undefined,
        active: true,
      },
      ...{ secret: expect.stringMatching(/^whsec_[\w-]{43}$/), createdAt: '2026-01-01T00:00:00.000Z' },
    })
    expect(messages).toEqual([{ type: 'webhook', change: 'created', webhookId: made.id, accountKey: 'a' }])
    expect(webhooks.create('a', FIELDS).secret).not.toBe(made.secret)
  })

  it('keeps the given description, state and secret', () => {
    const { webhooks } = make()
    const made = webhooks.create('a', { ...FIELDS, description: 'mine', active: false }, 'my secret')
    expect(made).toMatchObject({ description: 'mine', active: false, secret: 'my secret' })
    expect([webhooks.get('a', made.id), webhooks.find(made.id)]).toEqual([made, made])
  })

  it.each([
    [{}, true],
    [{ A01: 'false' }, false],
  ])('is active unless it says otherwise, or another default is assumed: %j', (assume, active) => {
    expect(make(assume).webhooks.create('a', FIELDS).active).toBe(active)
    expect(make(assume).webhooks.create('a', { ...FIELDS, active: !active }).active).toBe(!active)
  })

  it('with an impossible field is refused, and nothing is announced', () => {
    const { webhooks, messages } = make()
    expect(() => webhooks.create('a', { ...FIELDS, url: 'ftp://localhost/' })).toThrow(
      refusal('invalid', 'url must begin'),
    )
    expect(() => webhooks.create('a', { ...FIELDS, events: [] })).toThrow(refusal('invalid', 'events must name'))
    expect(() => webhooks.create('a', FIELDS, '')).toThrow(expect.objectContaining({ code: 'secret_unusable' }))
    expect([webhooks.list(), messages]).toEqual([[], []])
  })

  it('of types that never fire is announced with a warning', () => {
    const { webhooks, messages } = make()
    webhooks.create('a', { ...FIELDS, events: ['invoice.paid'] })
    expect(messages.map(({ type }) => type)).toEqual(['warning', 'webhook'])
  })

  it('above the number for an account is refused, until one is deleted', () => {
    const { webhooks } = make()
    const [first] = [1, 2, 3].map(() => webhooks.create('a', FIELDS))
    expect(() => webhooks.create('a', FIELDS)).toThrow(refusal('invalid', 'takes 3 webhooks per account; delete some'))
    expect(webhooks.create('b', FIELDS).accountKey).toBe('b')
    webhooks.delete('a', first?.id ?? '', write)
    expect(webhooks.create('a', FIELDS).accountKey).toBe('a')
    expect([webhooks.list().length, webhooks.list('a').length, webhooks.list('b').length]).toEqual([4, 3, 1])
  })

  it('is found by its own account only', () => {
    const { webhooks } = make()
    const { id } = webhooks.create('a', FIELDS)
    expect(() => webhooks.get('b', id)).toThrow(refusal('of-another-account', 'there is no such webhook'))
    expect(() => webhooks.get('a', 'x')).toThrow(refusal('unknown', 'there is no such webhook'))
    expect(() => webhooks.update('b', id, {})).toThrow(refusal('of-another-account'))
    expect(() => webhooks.delete('b', id, write)).toThrow(refusal('of-another-account'))
    expect(webhooks.find('x')).toBeUndefined()
    webhooks.mustHaveLog('a', id)
    expect(() => webhooks.mustHaveLog('b', id)).toThrow(refusal('of-another-account'))
  })
})

describe('an update', () => {
  const DESCRIBED = { ...FIELDS, description: 'mine', active: false }

  it.each<[object, object]>([
    [{}, {}],
    [{ url: 'http://localhost/new' }, { url: 'http://localhost/new' }],
    [{ events: ['contact.created'] }, { events: ['contact.created'] }],
    [{ description: '' }, { description: '' }],
    [{ active: true }, { active: true }],
  ])('changes the given fields, and no other: %j', (change, changed) => {
    const { webhooks, messages } = make()
    const made = webhooks.create('a', DESCRIBED)
    expect(webhooks.update('a', made.id, change)).toEqual({ ...made, ...changed })
    expect(webhooks.get('a', made.id)).toEqual({ ...made, ...changed })
    expect(messages.at(-1)).toEqual({ type: 'webhook', change: 'updated', webhookId: made.id, accountKey: 'a' })
  })

  it.each([
    ['true', true],
    ['false', false],
  ])('replaces description and state if that is assumed (A07), by the default %s (A01)', (A01, active) => {
    const { webhooks } = make({ A07: 'replace', A01 })
    const made = webhooks.create('a', { ...DESCRIBED, active: !active })
    expect(webhooks.update('a', made.id, {})).toEqual({ ...made, description: undefined, active })
    expect(webhooks.update('a', made.id, { description: 'new', active: !active })).toEqual({
      ...{ ...made, description: 'new' },
    })
  })

  it('with an impossible field is refused, and changes nothing', () => {
    const { webhooks, messages } = make()
    const made = webhooks.create('a', DESCRIBED)
    expect(() => webhooks.update('a', made.id, { url: 'x', active: true })).toThrow(refusal('invalid', 'url is not'))
    expect(() => webhooks.update('a', made.id, { events: ['x'], active: true })).toThrow(refusal('invalid'))
    expect([webhooks.get('a', made.id), messages.length]).toEqual([made, 1])
  })

  it('of a webhook whose fields would be refused today repeats no check of those that stay', () => {
    const journal = makeJournal()
    const made = make({ A30: 'any' }, journal).webhooks.create('a', { url: 'http://10.0.0.1/', events: ['a.b'] })
    const { webhooks } = make({ A27: 'refused' }, journal)
    expect(webhooks.update('a', made.id, { active: false })).toEqual({ ...made, active: false })
    expect(webhooks.update('a', made.id, { url: made.url, active: true })).toEqual(made)
    expect(() => webhooks.update('a', made.id, { url: 'http://10.0.0.2/' })).toThrow(
      refusal('invalid', 'private network'),
    )
  })
})

describe('a deletion', () => {
  it('removes the webhook, and is announced', () => {
    const { webhooks, messages } = make()
    const made = webhooks.create('a', FIELDS)
    expect(webhooks.delete('a', made.id, write)).toEqual(made)
    expect(webhooks.list()).toEqual([])
    expect(messages.at(-1)).toEqual({ type: 'webhook', change: 'deleted', webhookId: made.id, accountKey: 'a' })
    expect(() => webhooks.mustHaveLog('a', made.id)).toThrow(refusal('unknown'))
  })

  it('leaves the log to its account if that is assumed (A33), until all is cleared', () => {
    const { webhooks } = make({ A33: 'kept' })
    const { id } = webhooks.create('a', FIELDS)
    webhooks.delete('a', id, write)
    webhooks.mustHaveLog('a', id)
    expect(() => webhooks.mustHaveLog('b', id)).toThrow(refusal('unknown'))
    webhooks.clear()
    expect(() => webhooks.mustHaveLog('a', id)).toThrow(refusal('unknown'))
  })
})

it('webhooks are read back as they were, with the accounts of kept logs', () => {
  const journal = makeJournal()
  const { webhooks } = make({ A33: 'kept' }, journal)
  const [one, two, three] = ['a', 'b', 'a'].map((key) => webhooks.create(key, FIELDS))
  webhooks.update('b', two?.id ?? '', { description: 'mine' })
  webhooks.delete('a', one?.id ?? '', write)
  const { webhooks: read } = make({}, journal)
  expect(read.list()).toStrictEqual([{ ...two, description: 'mine' }, three])
  read.mustHaveLog('a', one?.id ?? '')
  read.clear()
  expect(read.list()).toEqual([])
})

it('the log of a deleted webhook is not written if it goes with it', () => {
  const journal = makeJournal()
  const { webhooks } = make({}, journal)
  webhooks.delete('a', webhooks.create('a', FIELDS).id, write)
  expect([journal.load('webhook'), journal.load('deleted-webhook')]).toEqual([[], []])
})
