import { Readable } from 'node:stream'
import { runInNewContext } from 'node:vm'
import {
  ConfigurationError,
  createReceiver,
  memoryStore,
  type ReceiverOptions,
  record,
  type WebhookEvent,
} from 'postern'
import { events, manualClock, type SignedDelivery, signed, silentLogger } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import {
  Bench,
  claimElsewhere,
  counting,
  delayedBy,
  expectRefusal,
  failure,
  gated,
  raise,
  request,
  SECRET,
  settle,
  watchRejections,
} from './support.ts'

watchRejections()

const make = (options: unknown) => createReceiver(options as ReceiverOptions<never, never>) // plain JavaScript can contain it
const store = () => memoryStore()
const without = (method: string) => ({ ...methods, [method]: undefined })
const keeping = (retentionMs: unknown) => ({ store: { ...methods, retentionMs } })
const LEAST = {
  maxBodyBytes: 100,
  deadlineMs: 100,
  handlerTimeoutMs: 100,
  leaseMs: 2_000,
  maxInFlight: 1,
  maxAge: 10_800_000,
}
const MOST = { maxBodyBytes: 1_073_741_824, deadlineMs: 9_500, handlerTimeoutMs: 86_400_000, leaseMs: 25_000 }
const methods = { retentionMs: 1e9, claim() {}, renew() {}, complete() {}, release() {} }

describe('options', () => {
  it.each<[string, unknown, string]>([
    ['no options', undefined, 'createReceiver: it takes one object of options: { secret }.'],
    ['a name of blanks', { name: 'a b' }, 'give 1 to 64 printable characters'],
    ['a name of 65 characters', { name: 'x'.repeat(65) }, '1 to 64'],
    ['maxBodyBytes 0', { maxBodyBytes: 0 }, 'maxBodyBytes is 0; give a whole number of bytes from 100 to 1073741824'],
    ['less than one body may cost', { maxBodyBytes: 2e6, maxBufferedBytes: 7_999_999 }, 'maxBufferedBytes is 7999999'],
    ['a deadline over 9.5 s', { deadlineMs: 9_501 }, 'give a number from 100 to 9500'],
    [
      'handlerTimeoutMs 0',
      { handlerTimeoutMs: 0 },
      'handlerTimeoutMs is 0; give a number from 100 to 86400000, since it is in milliseconds',
    ],
    ['a lease of 1.9 s', { leaseMs: 1_900 }, 'give a whole number of milliseconds from 2000 to 25000'],
    ['a lease that Redis refuses', { leaseMs: 2_000.5 }, 'leaseMs is 2000.5'],
    ['maxInFlight 0', { maxInFlight: 0 }, 'maxInFlight is 0'],
    ['maxAge under 3 h', { maxAge: 10_799_999 }, 'since the last of the five attempts comes 2 h 36 min'],
    ['a clock without monotonic', { clock: { now() {} } }, 'clearTimeout(); it has no monotonic()'],
    ['a logger without debug', { logger: { ...silentLogger, debug: 1 } }, 'it has no debug()'],
    ...['claim', 'renew', 'complete', 'release'].map((method): [string, unknown, string] => [
      `a store without ${method}`,
      { store: without(method) },
      `it has no ${method}()`,
    ]),
    ['a store that keeps ids for 2 h 59', keeping(10_799_999), 'at least 10800000 (3 h)'],
    ['a store that does not say', keeping(undefined), 'keeps done events for undefined ms'],
    ...['transaction', 'transactionSync'].map((method): [string, unknown, string] => [
      `a store whose ${method} is no function`,
      { store: { ...methods, [method]: 7 } },
      `it has no ${method}()`,
    ]),
    ['models that are a list', { models: [] }, 'models is an empty list; give a plain object of schemas by key'],
    ['models that were not awaited', { models: Promise.resolve({}) }, 'models is a promise; give a plain object'],
    ['a model that is no schema', { models: { contact: {} } }, 'models.contact is not a schema. Give one of zod'],
    ['a model that is undefined', { models: { contact: undefined } }, 'models.contact is undefined. If it is imported'],
    ['a model key with a dot', { models: { 'a.b': record() } }, '"a.b" cannot be a model key'],
    ['an empty model key', { models: { '': record() } }, '"" cannot be a model key'],
    ['an event about a record', { events: { 'invoice.created': record() } }, 'declare its model instead, models: {'],
    ['an event that reads as a pattern', { events: { '*.paid': record() } }, 'it reads as a pattern'],
    ['an event that ends in a star', { events: { 'invoice.*': record() } }, 'it reads as a pattern'],
    ['an empty event type', { events: { '': record() } }, 'it reads as a pattern'],
  ])('refuses %s', (_what, options, fix) => {
    const given = options == null ? options : { secret: SECRET, ...(options as object) }
    const error = failure(() => make(given))
    expect(error.code).toBe('option_invalid')
    expect(error.message).toContain(fix)
    expect(error.message).toMatch(/^createReceiver: /)
  })

  it.each([
    ['secrets', 'Several secrets are given as a list in "secret".'],
    [
      'deadline',
      'It takes secret, models, events, store, name, signatureHeader, maxBodyBytes, maxBufferedBytes, deadlineMs',
    ],
    ['toString', 'createReceiver has no option "toString"'],
  ])('refuses the unknown option %s', (option, fix) => {
    expectRefusal(() => make({ secret: SECRET, [option]: 1 }), 'option_unknown', fix)
  })

  it.each([
    ['the least', { ...LEAST, ...keeping(10_800_000) }],
    ['the most', { ...MOST, ...keeping(Number.POSITIVE_INFINITY) }],
    ['prototype names for models', { models: { constructor: record(), toString: record(), ['__proto__']: record() } }],
    ['fractions of milliseconds', { deadlineMs: 1_000.5, handlerTimeoutMs: 100.5 }],
    ['event types of any other shape', { events: { 'invoice.paid': record(), paid: record(), 'a.b.c': record() } }],
  ])('accepts %s', (_what, options) => {
    expect(() => make({ secret: SECRET, ...options })).not.toThrow()
  })
})

describe('unusable secrets', () => {
  it.each([
    ['undefined', undefined, 'environment variable'],
    ['an empty list', [], 'The list of secrets is empty'],
    ['a bound secret without its account', { secret: SECRET }, 'needs its accountKey'],
    ['a bound secret of an empty account', { secret: SECRET, accountKey: '' }, 'needs its accountKey'],
    ['a bound secret without the secret', { accountKey: 'acme' }, 'is undefined'],
    ['a bound secret with a misspelt field', { secret: SECRET, acountKey: 'acme' }, 'it has no field "acountKey"'],
    ['a promise', Promise.resolve(SECRET), 'is a promise: await it, or give the receiver the function itself'],
  ])('refuses %s', (_what, secret, fix) => {
    const error = failure(() => make({ secret }))
    expect(error.code).toBe('secret_unusable')
    expect(error.message).toContain(fix)
    expect(error.message).not.toContain(SECRET)
    expect(error.stack, 'the line of the app').toContain('create-receiver.test.ts')
  })
})

describe('the name on a store', () => {
  it('is refused to a second receiver, with a message that contains the fix', () => {
    const shared = store()
    make({ secret: SECRET, store: shared })
    expectRefusal(() => make({ secret: SECRET, store: shared }), 'store_shared', "another name: { name: '…' }")
    expect(() => make({ secret: SECRET, store: shared, name: 'billing' })).not.toThrow()
    expect(() => make({ secret: SECRET, store: store() })).not.toThrow()
  })

  it('is not taken by a receiver that could not be made', () => {
    const shared = store()
    expect(() => make({ secret: '', store: shared })).toThrow(ConfigurationError)
    expect(() => make({ secret: SECRET, store: shared })).not.toThrow()
  })

  it('is released by close, once: closing again does not free it under its next holder', async () => {
    const shared = store()
    const first = createReceiver({ secret: SECRET, store: shared })
    await first.close()
    make({ secret: SECRET, store: shared })
    await first.close()
    expectRefusal(() => make({ secret: SECRET, store: shared }), 'store_shared')
  })
})

describe('registration', () => {
  it.each([
    ['on', (bench: Bench) => bench.receiver.on('contact.updated', () => {})],
    ['intercept', (bench: Bench) => bench.receiver.intercept((run) => run())],
  ])('is over for .%s() with the first verified delivery', async (method, register) => {
    const bench = new Bench()
    bench.receiver.on('contact.created', () => {})
    expect((await bench.send(events.contact.created(), { tamper: 'other-secret' })).status).toBe(401)
    bench.receiver.on('contact.deleted', () => {})
    expect((await bench.send(events.contact.created())).status).toBe(200)
    const fix = `.${method}() was called after the first delivery. Register every handler before`
    expectRefusal(() => register(bench), 'registration_frozen', fix)
  })
})

describe('receive', () => {
  const open = () => {
    const { bench } = counting({ maxBodyBytes: 2_000 })
    return bench
  }

  it('accepts a body of maxBodyBytes, and refuses one more before looking at its signature', async () => {
    const bench = open()
    const body = (length: number) => {
      const event = JSON.stringify(events.raw('sync.completed', { fill: '' }))
      return event.replace('"fill":""', `"fill":"${'x'.repeat(length - event.length)}"`)
    }
    expect(await bench.send(body(2_000))).toMatchObject({ outcome: 'handled' })
    expect(await bench.send(body(2_001), { tamper: 'no-header' })).toMatchObject({
      status: 413,
      code: 'body_too_large',
    })
  })

  it('treats a receivedAt that is an hour ahead of the clock as now', async () => {
    const bench = open()
    const outcome = bench.send(events.contact.created(), { receivedAt: bench.clock.now() + 3_600_000 })
    expect(await outcome).toMatchObject({ outcome: 'handled' })
    expect(bench.outcomes[0]?.durationMs).toBe(0)
  })
})

it.each<[string, (bytes: Uint8Array, no: () => Promise<never>) => unknown]>([
  ['a body', (_bytes, no) => ({ body: no(), signature: 'text' })],
  ['a signature', (body, no) => ({ body, signature: no() })],
  ['everything', (_bytes, no) => no()],
  ['a body beside a source that is none', (_bytes, no) => ({ body: no(), signature: 'text', source: 5 })],
])(
  'receive() refuses %s that was not awaited, also while it closes, and leaves no rejection behind',
  async (_what, toDelivery) => {
    const bench = new Bench()
    const { body: bytes } = signed(events.contact.created(), { secret: SECRET })
    const receive = () => bench.receiver.receive(toDelivery(bytes, () => Promise.reject(new Error('no'))) as never)
    expect((await receive()).status).toBeGreaterThanOrEqual(500)
    expect(bench.errors).toHaveLength(1)
    await bench.receiver.close()
    expect(await receive()).toMatchObject({ outcome: 'closing' })
  },
)

it('handle, receive, dispatch and close may be detached from the receiver', async () => {
  const { bench } = counting()
  const { handle, receive, dispatch, close } = bench.receiver
  expect(await receive(signed(events.contact.created(), { secret: SECRET }))).toMatchObject({ outcome: 'handled' })
  expect(await handle(request(events.contact.created()))).toMatchObject({ status: 200 })
  expect(await dispatch(events.contact.created())).toMatchObject({ outcome: 'handled' })
  expect(await close()).toEqual({ unfinished: 0 })
  expect(bench.codes).toEqual([])
})

it.each<[string, readonly unknown[]]>([
  ['node:http', [{ read() {}, headers: {} }, { writeHead() {} }]],
  ['Express', [{ read() {}, header() {}, pipe() {} }, { writeHead() {} }, () => {}]],
  ['Hono', [{ header() {} }, () => {}]],
  ['hosts that pass nothing', []],
])('handle() explains the mistake if it gets the arguments of %s, which it would never answer', (_host, given) => {
  const bench = new Bench()
  const mounted = bench.receiver.handle as (...given: readonly unknown[]) => unknown // as a host calls it
  const fix = 'mount expressHandler(receiver), or the adapter of that framework'
  expectRefusal(() => mounted(...given), 'option_invalid', fix)
  expect(bench.outcomes).toEqual([])
})

it('handle() ignores further arguments of a caller, such as an index', async () => {
  const { bench } = counting()
  const requests = [request(events.contact.created()), request(events.contact.created())]
  expect((await Promise.all(requests.map(bench.receiver.handle))).map(({ status }) => status)).toEqual([200, 200])
})

it.each<[string, (delivery: SignedDelivery) => readonly unknown[], string]>([
  ['nothing', () => [], 'needs the exact bytes'],
  ['a parsed body', ({ signature }) => [{ body: { id: 'evt_1' }, signature }], 'Uint8Array or Buffer'],
  ['an ArrayBuffer', ({ signature }) => [{ body: new ArrayBuffer(4), signature }], 'Uint8Array or Buffer'],
  ['a promise', ({ body }) => [{ body, signature: Promise.resolve('sha256=') }], 'await what is a promise'],
  ['an event', () => [events.contact.created()], 'or give it to receiver.dispatch(event)'],
  ['no body', () => [{}], 'needs the exact bytes'],
  ['body and signature', ({ body, signature }) => [body, signature], 'takes one object: receive({ body, signature })'],
  ['text and signature', ({ signature }) => ['{}', signature], 'takes one object: receive({ body, signature })'],
  ['a request of Fetch', (delivery) => [delivery.request()], 'was given a request. Mount an adapter'],
  ['a request of Node', ({ body, signature }) => [Object.assign(Readable.from([body]), { signature })], 'a request'],
  ['headers', ({ body, headers }) => [{ body, headers }], 'takes receive({ body, signature }), with the value of'],
  ['headers as the signature', ({ body, headers }) => [{ body, signature: new Headers(headers) }], 'object (Headers)'],
  ['a misspelt signature', ({ body, signature }) => [{ body, sig: signature }], 'It was given "body", "sig"'],
  ['a misspelt body', ({ body, signature }) => [{ bdy: body, signature }], 'no field "bdy". Did you mean "body"?'],
])('receive() answers any argument of plain JavaScript, and says what it takes: %s', async (_what, toGiven, fix) => {
  const { receiver, errors } = new Bench()
  const given = toGiven(signed(events.contact.created(), { secret: SECRET })) as Parameters<typeof receiver.receive>
  expect(await receiver.receive(...given)).toMatchObject({ outcome: 'error', code: 'body_consumed' })
  expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining(fix)])
  expect(await receiver.close()).toEqual({ unfinished: 0 })
})

it('receive() handles a delivery with a field that it does not know, and reports that once', async () => {
  const bench = new Bench()
  bench.receiver.on('*', () => {})
  for (let turn = 0; turn < 2; turn++) {
    const { body, signature } = signed(events.contact.created(), { secret: SECRET })
    const delivery = { body, signature, recievedAt: bench.clock.now() } as never
    expect(await bench.receiver.receive(delivery)).toMatchObject({ outcome: 'handled' })
  }
  const lines = bench.lines.filter(({ level }) => level === 'error').map(({ message }) => message)
  expect(lines).toEqual([expect.stringContaining('no field "recievedAt". Did you mean "receivedAt"?')])
})

describe('receivedAt', () => {
  it.each<[string, unknown]>([
    ['seconds', 1_735_689_600],
    ['a day and more ago', Date.UTC(2024, 11, 30)],
    ['NaN', Number.NaN],
  ])('of %s counts as now, and the owner gets one report of the accepted values', async (_what, receivedAt) => {
    const { bench } = counting()
    for (let count = 0; count < 2; count++)
      expect(await bench.send(events.contact.created(), { receivedAt: receivedAt as number })).toMatchObject({
        outcome: 'handled',
      })
    expect(bench.codes).toEqual(['option_invalid', 'option_invalid'])
    expect(bench.errors[0]?.message).toContain('milliseconds since 1970, such as Date.now()')
    expect(bench.lines.filter(({ level }) => level === 'error')).toHaveLength(1)
  })

  it('long ago leaves no time for the claim, and the error says that', async () => {
    const { bench } = counting()
    bench.store.plan('claim', delayedBy(1))
    expect(await bench.sendFor(0, events.contact.created(), { receivedAt: bench.clock.now() - 60_000 })).toMatchObject({
      status: 503,
      code: 'store_unavailable',
    })
    expect(bench.errors[0]?.cause).toEqual(new Error('no time was left when it was asked'))
    await bench.clock.advance(10)
  })
})

describe('dispatch', () => {
  it('handles an event that was verified before, and deduplicates it with deliveries', async () => {
    const bench = new Bench()
    const seen: unknown[] = []
    bench.receiver.on('contact.*', (event) => void seen.push(event.data.record))
    const event = events.contact.created({ firstName: 'Ada' })
    expect(await bench.receiver.dispatch(event)).toMatchObject({ outcome: 'handled', status: 200, id: event.id })
    expect(await bench.send(event)).toMatchObject({ outcome: 'duplicate' })
    expect(seen).toEqual([event.data.record])
  })

  it.each([[{}], [{ id: '', type: 'a', timestamp: '', accountKey: 'a', data: {} }]])(
    'rejects %j with event_invalid',
    async (event) => {
      const { receiver } = new Bench()
      await expect(receiver.dispatch(event as never)).rejects.toMatchObject({ code: 'event_invalid' }) // as in plain JavaScript
    },
  )

  it.each([
    ['for ever', Number.POSITIVE_INFINITY],
    ['as long as is asked for', 60_000],
  ])('waits for the result %s, as the consumer of a queue must', async (_how, waitMs) => {
    const { bench, gate } = gated()
    const event = events.contact.created()
    const dispatched = bench.receiver.dispatch(event, { waitMs })
    expect(await bench.sendFor(50_000, event)).toMatchObject({ outcome: 'late', joined: true })
    expect(bench.outcomes).toHaveLength(1)
    gate.open(undefined)
    expect(await dispatched).toMatchObject({ outcome: 'handled' })
  })

  it.each<[string, (event: object) => unknown]>([
    ['of another realm', (event) => runInNewContext(`(${JSON.stringify(event)})`)],
    ['of a class', (event) => Object.assign(new (class Message {})(), event)],
  ])('passes each handler a copy of an event %s, and leaves the app its own', async (_what, toEvent) => {
    const bench = new Bench()
    const seen: unknown[] = []
    for (const name of ['a', 'b'])
      bench.receiver.on('contact.*', { name }, async (event) => {
        Object.assign(event.data, { note: `of ${name}` })
        await settle()
        seen.push(Reflect.get(event.data, 'note'))
      })
    const event = toEvent(events.contact.created()) as WebhookEvent // as an app may have it
    expect(await bench.receiver.dispatch(event)).toMatchObject({ outcome: 'handled' })
    expect(seen).toEqual(['of a', 'of b'])
    expect(event.data).not.toHaveProperty('note')
    expect(await bench.receiver.dispatch(event)).toMatchObject({ outcome: 'duplicate' })
  })

  it('lets the same event with separate data join, and one whose data is a getter of its class', async () => {
    const { bench, gate } = gated()
    const sent = events.contact.created()
    class Row {
      readonly id = sent.id
      readonly type = sent.type
      readonly timestamp = sent.timestamp
      readonly accountKey = sent.accountKey
      get data() {
        return sent.data
      }
    }
    const first = bench.receiver.dispatch(sent)
    await settle()
    const others = [structuredClone(sent), new Row()].map((event) => bench.receiver.dispatch(event))
    gate.open(undefined)
    expect(await first).toMatchObject({ outcome: 'handled' })
    for (const other of await Promise.all(others)) expect(other).toMatchObject({ outcome: 'handled', joined: true })
  })

  const load = () => Promise.reject(new Error('no'))
  const event = events.raw('sync.completed')

  it.each<[string, () => unknown, string]>([
    ['an event', load, 'The event is a promise: await it.'],
    ['data', () => ({ ...event, data: load() }), 'Its data is a promise: await it.'],
    [
      'a record',
      () => ({ ...events.contact.created(), data: { record: load() } }),
      'Its data.record is a promise: await it.',
    ],
  ])('rejects %s that was not awaited, and leaves no unhandled rejection behind', async (_what, toEvent, fix) => {
    const { bench } = counting()
    const given = toEvent() as WebhookEvent // plain JavaScript forgets to await
    const message = expect.stringContaining(fix)
    await expect(bench.receiver.dispatch(given)).rejects.toMatchObject({ code: 'event_invalid', message })
  })

  it('waits for ever for a claim that another process holds, if its option says so', async () => {
    const { bench } = counting()
    const event = events.contact.created()
    claimElsewhere(bench, event, 120_000)
    const dispatched = bench.receiver.dispatch(event, { waitMs: Number.POSITIVE_INFINITY })
    await bench.clock.advance(119_000)
    expect(bench.outcomes).toEqual([])
    await bench.clock.advance(2_000)
    expect(await dispatched).toMatchObject({ outcome: 'handled' })
  })

  it.each([0, 1])('with waitMs %i does not wait, and the work is done anyway', async (waitMs) => {
    const { bench, runs } = counting({ usual: delayedBy(100) })
    const dispatched = bench.receiver.dispatch(events.contact.created(), { waitMs })
    await bench.clock.advance(waitMs)
    expect(await dispatched).toMatchObject({ outcome: 'late' })
    await bench.clock.advance(1_000)
    expect([runs(), bench.codes]).toEqual([1, []])
    expect(bench.outcomes.map(({ outcome, late }) => [outcome, late])).toEqual([
      ['late', undefined],
      ['handled', true],
    ])
  })

  it.each([-1, 2 ** 31])('rejects waitMs %i', async (waitMs) => {
    const dispatched = new Bench().receiver.dispatch(events.contact.created(), { waitMs })
    await expect(dispatched).rejects.toMatchObject({ code: 'option_invalid' })
  })
})

it('uses its own memory store by default, on the given clock', async () => {
  const clock = manualClock()
  const receiver = createReceiver({ secret: SECRET, clock, logger: silentLogger })
  receiver.on('*', () => {})
  const event = events.syncCompleted()
  expect((await receiver.dispatch(event)).outcome).toBe('handled')
  expect((await receiver.dispatch(event)).outcome).toBe('duplicate')
  await clock.advance(7 * 24 * 3_600_000 + 1)
  expect((await receiver.dispatch(event)).outcome).toBe('handled')
})

describe('close', () => {
  it.each<[string, unknown, string]>([
    [
      'an option of another name',
      { timeout: 1 },
      'close() has no option "timeout". Did you mean "timeoutMs"? It takes timeoutMs.',
    ],
    ['a bare number', 1, 'close(): it takes one object of options: { timeoutMs }.'],
    ['text', { timeoutMs: '1' }, 'close(): timeoutMs is "1"'],
  ])('informs the owner of %s, and waits its 10 s anyway', async (_what, options, message) => {
    const { bench, gate } = gated()
    const sent = bench.send(events.contact.created())
    await settle()
    const closing = bench.receiver.close(options as { timeoutMs: number }) // plain JavaScript can contain it
    let isClosed = false
    void closing.then(() => {
      isClosed = true
    })
    await bench.clock.advance(7_000)
    expect([isClosed, bench.errors.length]).toEqual([false, 1])
    expect(bench.errors[0]?.message).toContain(message)
    gate.open(undefined)
    expect(await closing).toEqual({ unfinished: 0 })
    expect(await sent).toMatchObject({ outcome: 'handled' })
  })

  it('waits for an answer until its adapter says that it is written, and for none of an adapter that failed before', async () => {
    const { bench } = counting()
    const failing = raise(new Error('no'))
    await bench.receiver.handle(request(events.contact.created(), { onAnswered: failing }))
    let onWritten = () => {}
    const onAnswered = (callback: () => void) => {
      onWritten = callback
    }
    expect((await bench.receiver.handle(request(events.contact.created(), { onAnswered }))).status).toBe(200)
    let isClosed = false
    const closing = bench.receiver.close().then(() => {
      isClosed = true
    })
    await settle()
    expect(isClosed).toBe(false)
    onWritten()
    await closing
  })
})

it('await using closes a receiver, and waits for what it handles', async () => {
  const { bench, gate } = gated()
  const sent = bench.send(events.contact.created())
  await bench.clock.advance(0)
  const disposed = (async () => {
    await using receiver = bench.receiver
    void receiver
  })()
  expect(await bench.send(events.contact.created())).toMatchObject({ outcome: 'closing' })
  gate.open(undefined)
  await disposed
  expect(await sent).toMatchObject({ outcome: 'handled' })
})
