import type { Reply } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { DeliveryRequest } from '../../src/engine.ts'
import { Gate } from '../support/gate.ts'
import { Bench, raise, request, SECRET, saying, watchRejections } from './support.ts'

watchRejections()

function open(options: Record<string, unknown> = {}) {
  const bench = new Bench({ maxBodyBytes: 2_000, ...options })
  const ran: string[] = []
  bench.receiver.on('contact.*', (event) => void ran.push(event.id))
  return { bench, ran }
}

const codeOf = ({ body }: Reply) => (JSON.parse(body) as { readonly code: string }).code // every reply has one

describe('an answer to `postern dev`', () => {
  const TOKEN = 'a-token-of-postern-dev'
  const dev = { 'x-postern-dev': TOKEN }
  const broken = { cause: new Error('ECONNREFUSED') }
  const refused = { issues: [{ message: 'no address', path: ['email'] }] }
  const contact = { '~standard': { version: 1, vendor: 'test', validate: () => refused } }

  /** Delivers to a receiver whose handler throws, and returns the error in the answer. */
  async function deliver(
    environment: object,
    headers: object,
    options: Record<string, unknown> = {},
    sent: object = {},
  ): Promise<unknown> {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
    onTestFinished(() => void vi.unstubAllEnvs())
    const bench = new Bench(options)
    bench.receiver.on('contact.*', { name: 'audit' }, raise(new Error('Mailchimp answered 502', broken)))
    const { body } = await bench.receiver.handle(
      request(events.contact.created(), { headers: { ...headers }, ...sent }),
    )
    return JSON.parse(body).error
  }

  it('says which handler failed, with stack and causes, and which field a schema refuses', async () => {
    expect(await deliver({ POSTERN_DEV: TOKEN }, dev)).toEqual({
      handlers: ['audit'],
      text: expect.stringMatching(
        /^Error: Mailchimp answered 502\n {4}at .*\nCaused by: Error: ECONNREFUSED\n {4}at /s,
      ),
    })
    expect(await deliver({ POSTERN_DEV: TOKEN }, dev, { models: { contact } })).toEqual({
      handlers: [],
      text: expect.stringContaining('email: no address'),
    })
  })

  it('names the inbox that has accepted the event, to nobody else', async () => {
    vi.stubEnv('POSTERN_DEV', TOKEN)
    onTestFinished(() => void vi.unstubAllEnvs())
    const inbox = { put() {}, work() {}, counts: async () => ({}), list() {}, get() {}, replay() {}, drop() {} }
    const bench = new Bench({ name: 'crm', inbox: { ...inbox, commandOptions: ['--sqlite', '/data/app.db'] } })
    bench.receiver.on('contact.*', () => {})
    const deliver = async (headers: object) =>
      (await bench.receiver.handle(request(events.contact.created(), { headers: { ...headers } }))).body
    expect(JSON.parse(await deliver(dev)).inbox).toEqual({ name: 'crm', place: ['--sqlite', '/data/app.db'] })
    expect(await deliver({})).not.toContain('inbox')
  })

  const silent: readonly (readonly [string, ...Parameters<typeof deliver>])[] = [
    ['without the variable', { POSTERN_DEV: undefined }, dev],
    ['in production', { POSTERN_DEV: TOKEN, NODE_ENV: 'production' }, dev],
    ['if the variable is no token', { POSTERN_DEV: '1' }, { 'x-postern-dev': '1' }],
    ['if the variable is empty', { POSTERN_DEV: '' }, { 'x-postern-dev': '' }],
    ['to a request without the token', { POSTERN_DEV: TOKEN }, {}],
    ['to a request with another token', { POSTERN_DEV: TOKEN }, { 'x-postern-dev': `${TOKEN}.` }],
    ['to a sender without the secret', { POSTERN_DEV: TOKEN }, dev, {}, { options: { secret: 'another' } }],
    ['if no secret is found', { POSTERN_DEV: TOKEN }, dev, { secret: raise(new Error('vault is sealed')) }],
  ]
  for (const [when, ...given] of silent)
    it(`says nothing ${when}`, async () => {
      expect(await deliver(...given)).toBeUndefined()
    })
})

describe('the order of checks', () => {
  // Each row has its own fault and every fault of the rows below it; the first fault decides.
  const wrongs: readonly [string, number, Parameters<typeof request>[1]][] = [
    ['method_not_allowed', 405, { method: 'GET' }],
    ['unsupported_encoding', 415, { headers: { 'content-encoding': 'gzip' } }],
    ['body_too_large', 413, { headers: { 'content-length': '2001' } }],
    ['unauthorized', 401, { headers: { 'x-service-signature': 'sha256=1' } }],
  ]
  const allFrom = (index: number): Parameters<typeof request>[1] => {
    const rest = wrongs.slice(index).map(([, , wrong]) => wrong)
    return Object.assign({}, ...rest, { headers: Object.assign({}, ...rest.map((wrong) => wrong?.headers)) })
  }

  it.each(wrongs.map(([code, status], index) => [code, status, index] as const))(
    '%s comes before the later checks, and before a byte of the body is read',
    async (code, status, index) => {
      const { bench } = open({ secret: () => expect.unreachable('secrets come later') })
      const delivery = request(events.contact.created(), allFrom(index))
      const reply = await bench.receiver.handle(delivery)
      expect([reply.status, codeOf(reply)]).toEqual([status, code])
      expect(delivery.wasRead()).toBe(false)
      expect(bench.outcomes).toHaveLength(1)
      expect(bench.store.calls).toEqual([])
    },
  )

  it('closing comes before all others', async () => {
    const { bench } = open()
    await bench.receiver.close()
    const delivery = request(events.contact.created(), allFrom(0))
    expect(await bench.receiver.handle(delivery)).toMatchObject({ status: 503, body: '{"code":"closing"}' })
    expect(delivery.wasRead()).toBe(false)
  })

  it('a source that throws comes after the head, and before the body', async () => {
    const fail = { source: raise(new Error('no such tenant')) }
    const { bench } = open()
    const refused = await bench.receiver.handle(request(events.contact.created(), { ...allFrom(0), ...fail }))
    expect(refused.status).toBe(405)
    expect(bench.errors).toEqual([])
    const delivery = request(events.contact.created(), fail)
    const reply = await bench.receiver.handle(delivery)
    expect(reply).toMatchObject({
      status: 503,
      body: '{"code":"secrets_unavailable"}',
      headers: { 'retry-after': '30' },
    })
    expect(delivery.wasRead()).toBe(false)
    expect(bench.errors[0]).toMatchObject({ code: 'secrets_unavailable', cause: new Error('no such tenant') })
    expect(bench.outcomes).toHaveLength(2)
  })

  it('then the bytes, the secrets, the signature, the envelope, the account, the routes', async () => {
    const steps: string[] = []
    const { bench } = open({
      secret: ({ source }: { readonly source: string }) => {
        steps.push(`secrets of ${source}`)
        return source === 'none' ? undefined : { secret: SECRET, accountKey: 'acme' }
      },
    })
    const send = async (event: Parameters<typeof request>[0], overrides: Parameters<typeof request>[1] = {}) => {
      const delivery = request(event, { source: () => 'a', ...overrides })
      const reply = await bench.receiver.handle(delivery)
      return [reply.status, reply.body, delivery.wasRead()]
    }
    const unauthorized = [401, '{"code":"unauthorized"}', true]
    expect(await send('x'.repeat(2_001), { headers: { 'content-length': undefined } })).toEqual([
      413,
      '{"code":"body_too_large"}',
      true,
    ])
    expect(steps).toEqual([])
    expect(await send('not JSON', { source: () => 'none' })).toEqual(unauthorized)
    expect(await send('not JSON', { options: { tamper: 'other-secret' } })).toEqual(unauthorized)
    expect(await send('not JSON')).toEqual([400, '{"code":"invalid_json"}', true])
    expect(await send('{"accountKey":"globex"}')).toEqual([400, '{"code":"invalid_envelope"}', true])
    expect(await send(events.syncCompleted({}, { accountKey: 'globex' }))).toEqual(unauthorized)
    const ignored = events.syncCompleted()
    expect(await send(ignored)).toEqual([200, `{"code":"ignored","id":"${ignored.id}"}`, true])
    expect(bench.store.calls).toEqual([])
    expect(bench.outcomes.map((outcome) => ('code' in outcome ? outcome.code : outcome.outcome))).toEqual([
      'body_too_large',
      'unknown_source',
      'signature_mismatch',
      'invalid_json',
      'invalid_envelope',
      'account_mismatch',
      'ignored',
    ])
  })
})

describe('the reply', () => {
  const RETRY = { 'retry-after': '30' }
  it.each<[string, number, string, Record<string, string>, (bench: Bench) => unknown]>([
    ['handled', 200, 'handled', {}, () => {}],
    ['busy', 409, 'busy', RETRY, ({ store }) => store.plan('claim', ...Array(9).fill(saying({ state: 'busy' })))],
    ['lost', 503, 'lease_lost', RETRY, ({ store }) => store.plan('complete', saying(false))],
    ['failed', 500, 'handler_failed', {}, ({ receiver }) => receiver.on('*', raise(new Error('secret text')))],
  ])(
    'to an event that is %s has a code word, the event id, and its headers',
    async (_what, status, code, headers, plan) => {
      const { bench } = open()
      plan(bench)
      const event = events.contact.created({}, { id: 'evt "1"\u2028' })
      const replying = bench.receiver.handle(request(event))
      await bench.clock.advance(8_000)
      const reply = await replying
      expect(reply).toEqual({
        status,
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ code, id: event.id }),
        close: false,
        drainMs: 0,
      })
      await bench.clock.advance(100_000)
    },
  )

  it('to a refused record contains no issue', async () => {
    const { bench } = open()
    const event = events.raw('contact.created', { record: { secretField: 1 } })
    const reply = await bench.receiver.handle(request(event))
    expect([reply.status, reply.body]).toEqual([422, `{"code":"invalid_record","id":"${event.id}"}`])
  })
})

describe('the body', () => {
  const reading = (read: DeliveryRequest['read'], headers = {}) => request(events.contact.created(), { read, headers })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['an unknown failure, later', Promise.resolve({ failure: 'toString' })],
  ])('that a custom adapter returns as %s is the app’s mistake', async (_what, body) => {
    const { bench } = open()
    const reply = await bench.receiver.handle(reading(() => body as Uint8Array)) // as in plain JavaScript
    expect([reply.status, codeOf(reply)]).toEqual([500, 'body_consumed'])
    expect(bench.errors[0]?.message).toContain('read() returned neither bytes nor a failure')
  })

  it('may be exactly as long as the limit, and not a byte longer, whatever the adapter returns', async () => {
    const delivery = request(events.contact.created({ firstName: 'x'.repeat(1_000) }))
    const bytes = await delivery.read(2_000, { take: () => true, reserve: () => true })
    const length = bytes instanceof Uint8Array ? bytes.length : 0
    for (const [maxBodyBytes, status] of [
      [length, 200],
      [length - 1, 413],
    ]) {
      const { bench } = open({ maxBodyBytes })
      const reply = await bench.receiver.handle({
        ...delivery,
        header: (name) => (name === 'content-length' ? undefined : delivery.header(name)),
      })
      expect(reply.status).toBe(status)
    }
  })

  it('read before the receiver: the fix is in the log once, and reported to onError each time', async () => {
    const { bench } = open()
    for (let count = 0; count < 3; count++)
      await bench.receiver.handle(reading(() => ({ failure: 'body_consumed', fix: 'Mount it before express.json().' })))
    expect(bench.codes).toEqual(['body_consumed', 'body_consumed', 'body_consumed'])
    const lines = bench.lines.filter(({ level }) => level === 'error')
    expect(lines).toHaveLength(1)
    expect(lines[0]?.message).toContain('Mount it before express.json().')
    expect(bench.lines.at(-1)).toMatchObject({ level: 'debug', fields: { count: 3 } })
  })

  it.each<[string, () => never | Promise<never>]>([
    ['throws', raise(new Error('reset'))],
    ['rejects', () => Promise.reject(new Error('reset'))],
  ])('whose reading %s is a defect of its adapter, and not of the sender', async (_what, read) => {
    const { bench } = open()
    const reply = await bench.receiver.handle(reading(read))
    expect([reply.status, codeOf(reply)]).toEqual([500, 'unexpected'])
    expect(bench.errors[0]).toMatchObject({ message: expect.stringContaining('reset'), cause: new Error('reset') })
  })

  it('that does not arrive by the deadline: 408, and a later arrival is not handled', async () => {
    const { bench, ran } = open()
    const gate = new Gate<Uint8Array>()
    let limit = 0
    const delivery = request(events.contact.created())
    const bytes = delivery.read(2_000, { take: () => true, reserve: () => true }) as Uint8Array // request() sets them synchronously
    const replying = bench.receiver.handle({
      ...delivery,
      read: (given) => {
        limit = given
        return gate.promise
      },
    })
    await bench.clock.advance(7_999)
    expect([limit, bench.outcomes.length]).toEqual([2_000, 0])
    await bench.clock.advance(1)
    expect(await replying).toMatchObject({ status: 408, body: '{"code":"body_timeout"}', close: true })
    gate.open(bytes)
    await bench.clock.advance(100)
    expect(ran).toEqual([])
    expect(bench.outcomes).toHaveLength(1)
  })

  it('that took its time leaves less of it to the handlers', async () => {
    const { bench } = open()
    bench.receiver.on('*', () => new Promise(() => {}))
    const gate = new Gate<Uint8Array>()
    const delivery = request(events.contact.created())
    const bytes = delivery.read(2_000, { take: () => true, reserve: () => true }) as Uint8Array // as above
    const replying = bench.receiver.handle({ ...delivery, read: () => gate.promise })
    await bench.clock.advance(6_000)
    gate.open(bytes)
    await bench.clock.advance(1_999)
    expect(bench.outcomes).toEqual([])
    await bench.clock.advance(1)
    expect(await replying).toMatchObject({ status: 503, body: expect.stringContaining('"late"') })
    await bench.clock.advance(100_000)
  })
})

describe('the rest of a request', () => {
  const unsigned = { 'x-service-signature': undefined }
  const chunked = { 'content-length': undefined, 'transfer-encoding': 'chunked' }
  it.each<[string, Parameters<typeof request>[1], boolean, number]>([
    ['nothing, after a whole body', {}, false, 0],
    ['HTTP/2, which declares none', { method: 'GET', headers: { 'content-length': undefined } }, false, 2_000],
    ['a declared length within the limit: discarded in the body’s time', { headers: unsigned }, false, 8_000],
    ['one of just the limit: the same', { headers: { ...unsigned, 'content-length': '2000' } }, false, 8_000],
    ['a declared length over the limit: the connection ends', { headers: { 'content-length': '2001' } }, true, 2_000],
    ['no declared length: the connection ends', { headers: { ...unsigned, ...chunked } }, true, 2_000],
    ['a length that is no number', { headers: { ...unsigned, ...chunked, 'content-length': '1e3' } }, true, 2_000],
    ['too much', { headers: chunked, read: () => ({ failure: 'body_too_large' }) }, true, 2_000],
    ['a wrong method with a body', { method: 'PUT' }, false, 8_000],
    ['a body that somebody else has read', { read: () => ({ failure: 'body_consumed' }) }, false, 8_000],
  ])('%s', async (_what, overrides, close, drainMs) => {
    const { bench } = open()
    expect(await bench.receiver.handle(request(events.contact.created(), overrides))).toMatchObject({ close, drainMs })
  })
})
