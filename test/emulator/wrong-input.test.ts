import type { Emulator } from 'postern/emulator'
import { events, silentLogger } from 'postern/testing'
import { describe, expect, it, vi } from 'vitest'
import { start } from './support.ts'

const URL_TAKEN = 'http://localhost:3000/webhooks'

/** Values that plain JavaScript may pass. */
type Loose = Record<string, Record<string, (...given: unknown[]) => unknown>>

function loosen(crm: Emulator): Loose {
  return crm as unknown as Loose // plain JavaScript has no types
}

const circular: Record<string, unknown> = {}
circular.self = circular

// test/wrong-calls.test.ts shows that each method refuses values of other types, and misspelt options.
describe('a method refuses wrong arguments, and changes nothing', () => {
  it.each<[line: string, told: string, ...given: unknown[]]>([
    ['webhooks.create', 'fields: url: must be a string, not undefined', { events: ['sync.failed'] }],
    ['webhooks.create', 'fields: url: must be a string: its href, not', { url: new URL(URL_TAKEN), events: ['a.b'] }],
    ['webhooks.create', 'events: must be a list, not "sync.failed"', { url: URL_TAKEN, events: 'sync.failed' }],
    ['webhooks.create', 'active: must be true or false, not "no"', { url: URL_TAKEN, events: ['a.b'], active: 'no' }],
    ['webhooks.create', 'fields: there is no "event". Did you mean "events"?', { url: URL_TAKEN, event: ['a.b'] }],
    ['deliveries.resend', 'sign: must be "none", or one of', 'DELIVERY', { sign: 'nome' }],
    ['webhooks.update', 'must be an object', 'ID'],
    ['events.emit', 'JSON', { type: 'sync.failed', data: circular }],
    ['events.emitMany', 'count', { type: 'nobody.asked' }, 1e9],
    ['records.create', 'JSON', 'contact', { total: 1n }],
    ['accounts.add', 'the user gus@globex.test', { key: 'shop', email: 'gus@globex.test', password: 'x' }],
    ['webhooks.create', 'must be an object', { url: URL_TAKEN, events: ['sync.failed'] }, 'globex'],
    ['webhooks.list', 'no account "nobody"', { accountKey: 'nobody' }],
  ])('%s: %s', async (line, told, ...given) => {
    const crm = await start({ port: false, assume: { A31: 'kept' } })
    const webhook = crm.webhooks.create({ url: URL_TAKEN, events: ['sync.failed'], active: false })
    crm.events.emit({ type: 'sync.failed' })
    const count = () => [
      crm.webhooks.list(),
      crm.deliveries.list().length,
      crm.records.list('contact'),
      crm.accounts.list().length,
    ]
    const before = JSON.stringify(count())
    const [group = '', method = ''] = line.split('.')
    const values = given.map((value) => (value === 'ID' ? webhook.id : value))
    const act = () => loosen(crm)[group]?.[method]?.(...values)
    expect(act).toThrow(expect.objectContaining({ code: 'emulator_refused', message: expect.stringContaining(told) }))
    expect(JSON.stringify(count())).toBe(before)
  })
})

describe('the emulator', () => {
  it('emits an event of the builders, for its account', async () => {
    const crm = await start()
    crm.webhooks.create({ url: URL_TAKEN, events: ['sync.failed'] }, { accountKey: 'globex' })
    const event = events.syncFailed({ a: 1 }, { accountKey: 'globex' })
    expect(crm.events.emit(event)).toMatchObject({ id: event.id, deliveries: [expect.anything()] })
    expect(crm.events.emit(event, { accountKey: 'acme' }).deliveries).toEqual([])
  })

  it('warns of an event whose type is misspelt', async () => {
    const warn = vi.fn()
    const crm = await start({ logger: { ...silentLogger, warn } })
    crm.events.emit({ type: 'contact.craeted' })
    crm.events.emit({ type: 'nobody.asked' })
    expect(warn.mock.calls).toEqual([[{}, expect.stringContaining('did you mean contact.created?')]])
  })

  it('warns once of a record, and of a subscription, whose model is plural or misspelt', async () => {
    const warn = vi.fn()
    const crm = await start({ logger: { ...silentLogger, warn } })
    crm.webhooks.create({ url: URL_TAKEN, events: ['ticket.created', 'contract.created'] })
    crm.records.create('deal')
    for (const model of ['contract', 'contracts']) crm.records.create(model)
    const models = ['contacts', 'contacts', 'contcat', 'opportunities', 'tickets']
    for (const model of models) crm.records.create(model)
    expect(() => crm.records.get('contacts', '1')).toThrow('there is no such contacts; did you mean contact?')
    crm.webhooks.create({ url: URL_TAKEN, events: ['contacts.created'] })
    expect(warn.mock.calls.map(([, text]) => text)).toEqual([
      'a record of a model "contacts" is created; did you mean contact?',
      'a record of a model "contcat" is created; did you mean contact?',
      'a record of a model "opportunities" is created; did you mean opportunity?',
      'a record of a model "tickets" is created; did you mean ticket?',
      '"contacts.created" is not a type of the service; did you mean contact.created?',
    ])
  })

  it('warns once of a field that the service documents in other letters', async () => {
    const warn = vi.fn()
    const crm = await start({ logger: { ...silentLogger, warn } })
    const { _id } = crm.records.create('contact', { frstName: 'Zoë', nickname: 'Z', emails: [] })
    crm.records.update('contact', _id, { frstName: 'Zoe', Email: 'zoe@example.test' })
    crm.records.create('deal', { frstName: 'Zoë' })
    expect(warn.mock.calls.map(([, text]) => text)).toEqual([
      'a contact gets a field "frstName"; did you mean firstName?',
      'a contact gets a field "emails"; did you mean email?',
      'a contact gets a field "Email"; did you mean email?',
    ])
  })

  it('keeps a field whose new value is undefined', async () => {
    const crm = await start()
    const { _id } = crm.records.create('contact', { email: 'zoe@example.test', status: 'active' })
    const changed = crm.records.update('contact', _id, { email: undefined, status: null })
    expect(changed).toEqual({ _id, email: 'zoe@example.test', status: null })
  })

  it('warns of times in seconds, and logs nothing once it is closed', async () => {
    const warn = vi.fn()
    const crm = await start({ logger: { ...silentLogger, warn }, faults: { latency: [1, '1s'] } })
    crm.webhooks.create({ url: 'http://127.0.0.1:1/', events: ['sync.failed'] })
    crm.events.emit({ type: 'sync.failed' })
    await crm.clock.advance('2s')
    await crm.clock.advance(5)
    await crm.clock.advance(30)
    await crm.close()
    await crm.clock.advance('1s')
    await expect(crm.clock.advance(Number.NaN)).rejects.toThrow('NaN is not a duration')
    expect(warn.mock.calls.map(([, text]) => text)).toEqual([
      'startEmulator: faults.latency is 1 milliseconds; if seconds are meant, give "1s"',
      'clock.advance: 30 is milliseconds, and no attempt is due then; if seconds are meant, give "30s"',
    ])
  })

  it('returns separate objects: a change to one is no change of the emulator', async () => {
    const crm = await start()
    const webhook = crm.webhooks.create({ url: URL_TAKEN, events: ['sync.failed'] })
    const record = crm.records.create('contact', { address: { city: 'Oslo' } })
    const given: Loose[] = [
      ...[webhook, crm.webhooks.get(webhook.id), ...crm.webhooks.list(), crm.webhooks.pause(webhook.id)],
      ...[record, crm.records.get('contact', record._id), ...crm.records.list('contact')],
      crm.records.update('contact', record._id, { seen: true }),
    ].map((each) => each as unknown as Loose) // plain JavaScript has no types
    for (const each of given) {
      if (Array.isArray(each.events)) each.events.push('sync.completed')
      if (each.address !== undefined) Object.assign(each.address, { city: 'Bergen' })
    }
    expect(crm.webhooks.get(webhook.id).events).toEqual(['sync.failed'])
    expect(crm.records.get('contact', record._id)).toMatchObject({ address: { city: 'Oslo' }, seen: true })
  })
})

describe('the control interface', () => {
  it('answers with the type that was probably meant, if no webhook takes the event', async () => {
    const crm = await start({ port: false })
    const headers = { 'content-type': 'application/json' }
    const emit = async (type: string) => {
      const init = { method: 'POST', headers, body: JSON.stringify({ type }) }
      const response = await crm.fetch(new Request('http://localhost/_emulator/events', init))
      return Object(await response.json()).warning
    }
    expect(await emit('contact.deletd')).toBe('did you mean contact.deleted?')
    expect(await emit('contact.deleted')).toBeUndefined()
  })

  it('delivers a body to the account that it names, if there is one', async () => {
    const crm = await start({ port: false, assume: { A31: 'kept' } })
    const hooks = ['acme', 'globex'].map((accountKey) =>
      crm.webhooks.create({ url: URL_TAKEN, events: ['a.b'], active: false }, { accountKey }),
    )
    const headers = { 'content-type': 'application/json' }
    const deliver = async (accountKey?: string, more = {}) => {
      const body = JSON.stringify({ body: JSON.stringify({ id: 'x', type: 'a.b', accountKey }), ...more })
      await crm.fetch(new Request('http://localhost/_emulator/bodies', { method: 'POST', headers, body }))
      const last = crm.deliveries.list().at(-1)?.webhookId
      return hooks.find(({ id }) => id === last)?.accountKey
    }
    expect([await deliver('globex'), await deliver('of-production'), await deliver()]).toEqual([
      'globex',
      'acme',
      'acme',
    ])
    expect(await deliver('acme', { accountKey: 'globex' })).toBe('globex')
  })

  it.each<[string, string, object?]>([
    ['GET /records/contact?account=globex', 'mean \\"accountKey\\"?'],
    ['GET /records/contacts', 'did you mean contact?'],
    ['POST /records/Contact', 'did you mean contact?', {}],
    ['GET /deliveries?webhook=w', 'mean \\"webhookId\\"?'],
    ['POST /events', 'timestamp: must be ISO 8601', { type: 'contact.created', timestamp: 'yesterday' }],
    ['POST /events', 'must be { record: { _id, … } }', { type: 'contact.created', data: { email: 'x' } }],
    ['POST /faults', 'mean \\"count\\"?', { answer: '429', cuont: 3 }],
    ['POST /bodies', 'bodyBase64', { body: {} }],
    ['POST /bodies', 'body: must be a string', { body: { type: 'a.b' } }],
    ['POST /bodies', 'bodyBase64: must be base64', { bodyBase64: '{}' }],
    ['POST /bodies', 'mean \\"body\\"?', { boddy: '{}' }],
    ['POST /faults', 'answer: must be \\"429\\", not 429', { answer: 429 }],
    ['POST /faults', 'answer: must be one of 401, 429, 500, slow, reset, not \\"teapot\\"', { answer: 'teapot' }],
    ['POST /faults', 'count: must be a number, not \\"3\\"', { answer: '429', count: '3' }],
    ['POST /faults', 'delayMs: must be a number, not \\"2s\\"', { answer: 'slow', delayMs: '2s' }],
    ['POST /faults', 'deliveries.fail: must be a number from 0 to 1', { deliveries: { fail: '20%' } }],
    ['POST /faults', 'deliveries.latency: must be a duration', { deliveries: { latency: ['2s', '1s'] } }],
    ['POST /faults', 'must be { \\"answer\\": \\"429\\", \\"count\\": 1 } or {', {}],
    ['POST /clock', 'advance: must be a duration, such as \\"30s\\", not true', { advance: true }],
    ['POST /clock', 'next: must be true, not false', { next: false }],
    ['POST /clock', 'mean \\"advance\\"? It takes advance, next.', { advnace: '30s' }],
    ['POST /reset', 'there is no \\"accountKey\\". It takes none.', { accountKey: 'globex' }],
    ['POST /webhooks/ID/secret', 'there is no \\"secret\\"', { secret: 'test-secret' }],
    ['POST /deliveries/x/retry', 'there is no \\"body\\"', { body: '{}' }],
    ['POST /deliveries/x/stop', 'there is no \\"note\\"', { note: 'x' }],
    ['DELETE /webhooks/ID', 'there is no \\"dryRun\\"', { dryRun: true }],
    ['DELETE /faults', 'there is no \\"what\\"', { what: 'deliveries' }],
    ['DELETE /records/contact/1', 'there is no \\"accountKey\\"', { accountKey: 'globex' }],
    [
      'POST /events?accountKey=globex',
      'no query \\"accountKey\\". The fields go into the JSON of the body',
      { type: 'a.b' },
    ],
    ['POST /events?count=3', 'no query \\"count\\"', { type: 'a.b' }],
    ['POST /webhooks?accountKey=globex', 'no query', { url: URL_TAKEN, events: ['a.b'] }],
    ['DELETE /webhooks/ID?accountKey=globex', 'no query'],
    ['POST /reset?keep=records', 'no query', {}],
    ['GET /search?txt=x', 'mean \\"text\\"?'],
    ['GET /state?accountKey=globex', 'no query \\"accountKey\\". It takes none.'],
    ['PUT /webhooks/ID', 'mean \\"active\\"?', { activ: false }],
  ])('refuses %s: %s', async (line, told, body) => {
    const crm = await start({ port: false })
    const { id } = crm.webhooks.create({ url: URL_TAKEN, events: ['sync.failed'] })
    const [method = '', path = ''] = line.replace('ID', id).split(' ')
    const headers = { 'content-type': 'application/json' }
    const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) }
    const response = await crm.fetch(new Request(`http://localhost/_emulator${path}`, init))
    expect([response.status, await response.text()]).toEqual([422, expect.stringContaining(told)])
  })
})
