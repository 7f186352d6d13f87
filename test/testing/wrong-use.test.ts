import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  createEvents,
  createSender,
  events,
  fastifyTarget,
  fetchTarget,
  inboxSuite,
  manualClock,
  nodeTarget,
  recordHandlers,
  signed,
  storeSuite,
  testReceiver,
  urlTarget,
} from 'postern/testing'
import 'postern/testing/vitest'
import { describe, expect, it } from 'vitest'
import { newReceiver, secret } from './support.ts'

const circular: Record<string, unknown> = {}
circular.self = circular
const target = { send: async () => ({ status: 401, headers: {}, body: '' }) }

/** Values that plain JavaScript may pass. */
const loose = <Given extends unknown[]>(method: (...given: Given) => unknown) =>
  method as (...given: unknown[]) => unknown

// Each of these once made a delivery that no app accepted, or that was sent wrongly: a test for a refusal then passes.
describe('is refused when it is made', () => {
  it.each<[what: string, told: RegExp, make: () => unknown]>([
    [
      'a sender without a target',
      /createSender\(\) takes a target, not undefined/,
      () => loose(createSender)({ secret }),
    ],
    ['a sender to an app', /not a function: nodeTarget/, () => loose(createSender)({ target: () => {}, secret })],
    ['a sender by no clock', /takes a clock/, () => loose(createSender)({ target, secret, clock: {} })],
    ['a fetch target without a handler', /takes a function/, () => loose(fetchTarget)()],
    ['a fetch target of an app', /give app\.fetch/, () => loose(fetchTarget)({ fetch() {} })],
    ['a Fastify target without an app', /takes an app with inject\(\), not undefined/, () => loose(fastifyTarget)()],
    ['a Fastify target of another app', /nodeTarget\(\) or fetchTarget\(\)/, () => loose(fastifyTarget)(() => {})],
    ['a URL without its protocol', /begins with http/, () => urlTarget('localhost:3000/webhooks')],
    ['a URL of another protocol', /begins with http/, () => urlTarget('shttp://localhost:3000/webhooks')],
    ['a path that stands alone', /\{ path: "\/hooks" \}/, () => loose(nodeTarget)(() => {}, '/hooks')],
    ['a builder that was not called', /not a function/, () => loose(signed)(events.contact.created, { secret })],
    ['no event', /not undefined/, () => loose(signed)(undefined, { secret })],
    ['a null event', /not null/, () => loose(signed)(null, { secret })],
    ['a promise of an event', /not a promise/, () => loose(signed)(Promise.resolve(events.syncFailed()), { secret })],
    ['a format that there is not', /"prety".*compact, spaced/, () => loose(signed)('x', { secret, format: 'prety' })],
    ['a record for its id', /takes the id/, () => loose(events.contact.deleted)({ _id: 'c1' })],
    ['a number for its id', /takes the id/, () => loose(events.contact.deleted)(7)],
    ['an address for the fields', /take the fields of a record/, () => loose(events.contact.created)('zoe@x.test')],
    ['a list for the fields', /take the fields of a record/, () => loose(events.contact.updated)([{}])],
    ['no model', /takes the key of a model/, () => loose(events.model)()],
    ['a type for a model', /takes the key of a model/, () => events.model('contact.created')],
    ['no type', /takes the type of an event/, () => loose(events.raw)()],
    ['a seed that stands alone', /\{ seed: 5 \}/, () => loose(createEvents)(5)],
    ['nothing for the options of a sender', /takes a target, not undefined/, () => loose(createSender)()],
    ['an event without a secret', /secret is undefined/, () => loose(signed)(events.syncFailed())],
    ['a list of events', /not a list/, () => loose(signed)([events.syncFailed()], { secret })],
    ['what is signed already', /as text/, () => loose(signed)(signed(events.syncFailed(), { secret }), { secret })],
    ['nothing for a path', /\{ path: null \}/, () => loose(nodeTarget)(() => {}, null)],
    ['no URL', /begins with http:.* not undefined/, () => loose(urlTarget)()],
    ['a path for a URL', /begins with http:.* not "\/webhooks"/, () => urlTarget('/webhooks')],
    ['nothing to record', /createReceiver\(\), not undefined/, () => loose(recordHandlers)()],
    ['an app to record', /createReceiver\(\), not an object/, () => loose(testReceiver)({})],
    ['an unknown option', /signed has no option "tampr".*tamper/, () => loose(signed)('x', { secret, tampr: 'sha1' })],
    ['a secret that stands alone', /signed: it takes one object/, () => loose(signed)(events.syncFailed(), secret)],
    [
      'an unknown option of a sender',
      /createSender has no option "tampr"/,
      () => loose(createSender)({ target, secret, tampr: 'sha1' }),
    ],
    ['an unknown option of a target', /"pth".*path/, () => loose(fetchTarget)(() => {}, { pth: '/hooks' })],
    ['an unknown option of builders', /createEvents has no option "sed"/, () => loose(createEvents)({ sed: 1 })],
    [
      'an unknown field of an envelope',
      /envelope of an event has no option "account".*accountKey/,
      () => loose(events.contact.created)({}, { account: 'globex' }),
    ],
    ['an account for the envelope', /an event: it takes/, () => loose(events.contact.deleted)('c1', 'globex')],
    ['a store for its maker', /storeSuite\(\) takes a function/, () => loose(storeSuite)({ claim() {} })],
    ['no inbox', /inboxSuite\(\) takes a function/, () => loose(inboxSuite)()],
    ['an unknown option of a suite', /"isshared".*isShared/, () => loose(storeSuite)(() => {}, { isshared: false })],
  ])('%s', (_what, told, make) => {
    expect(make).toThrow(told)
  })

  it.each([-1, 1.5, Number.NaN])('a body that is cut after %s bytes', async (bytes) => {
    const sender = createSender({ target, secret })
    await expect(sender.abortAfter(events.syncFailed(), '1s', { bytes })).rejects.toThrow(RangeError)
  })

  it.each([undefined, 0, 1.5])('a body in parts of %s bytes', async (size) => {
    const sender = createSender({ target, secret })
    await expect(loose(sender.chunked)(events.syncFailed(), size)).rejects.toThrow(/bytes of a part/)
  })

  it.each([[{ tampr: 'sha1' }], ['sha1'], [null]])('a delivery with options %j', async (options) => {
    const sender = createSender({ target, secret })
    await expect(loose(sender.send)(events.syncFailed(), options)).rejects.toThrow(
      /signed has no option|takes one object/,
    )
    await expect(loose(sender.abortAfter)(events.syncFailed(), '1s', options)).rejects.toThrow(
      /signed has no option|takes one object/,
    )
  })

  it('an event for a list of events', async () => {
    const sender = createSender({ target, secret })
    await expect(loose(sender.outOfOrder)(events.syncFailed())).rejects.toThrow(/takes a list of events/)
  })

  it.each([undefined, 'once', Number.NaN, -1, 1.5])('failTimes(%s), which would fail for ever or never', (count) => {
    const handled = recordHandlers(newReceiver())
    expect(() => loose(handled.failTimes.bind(handled))(count)).toThrow(/how many runs fail/)
  })
})

describe('an envelope', () => {
  it('keeps its own value if it gets an undefined one', () => {
    const envelope = { id: undefined, accountKey: undefined, timestamp: undefined } as object
    expect(createEvents({ seed: 1 }).syncFailed({}, envelope)).toEqual(createEvents({ seed: 1 }).syncFailed({}))
  })

  it('keeps the id of the record if it gets an undefined one', () => {
    const record = { _id: undefined } as object
    expect(createEvents({ seed: 1 }).contact.created(record)).toEqual(createEvents({ seed: 1 }).contact.created())
  })
})

describe('a matcher', () => {
  const rejected = { status: 401, body: '' }
  it.each<[told: RegExp, match: () => unknown]>([
    [/await it/, () => expect(Promise.resolve(rejected)).not.toBeAcknowledged()],
    [/takes a 4xx status, not 500/, () => expect({ status: 500, body: '' }).not.toBeRejected(500)],
    [/takes a 4xx status, not "401"/, () => expect(rejected).not.toBeRejected('401' as never)],
    [/takes a whole number, not "1"/, () => expect({ attempts: [rejected] }).not.toHaveAttempts('1' as never)],
    [/takes the id of an event, not an object/, () => expect({ runs: [] }).not.toHaveHandledOnce({} as never)],
    [/takes the type of an event, not undefined/, () => expect({ runs: [] }).not.toHaveHandled(undefined as never)],
    [/with {"total":"1n"}; no handler ran/, () => expect({ runs: [] }).toHaveHandled('x.created', { total: 1n })],
    [/with fields that JSON cannot hold; no/, () => expect({ runs: [] }).toHaveHandled('x.created', circular)],
  ])('reports %s, even if it is negated', (told, match) => {
    expect(match).toThrow(told)
  })
})

it('an app in memory may set up the socket as it does on a network', async () => {
  const app = (request: IncomingMessage, response: ServerResponse) => {
    request.setTimeout(1_000)
    response.setTimeout(1_000)
    const { socket } = request
    socket
      .setTimeout(1_000)
      .setNoDelay(true)
      .setKeepAlive(true)
      .unref()
      .ref()
      .on('error', () => {})
    request.resume().on('end', () => response.end(`${socket.remoteAddress} ${typeof socket.address()}`))
  }
  const attempt = await createSender({ target: nodeTarget(app), secret }).send(events.syncFailed())
  expect(attempt).toMatchObject({ status: 200, body: '127.0.0.1 object' })
})

describe('a manual clock', () => {
  it.each([Number.NaN, undefined, -5])('treats a timer of %s ms as one of 0 ms, and runs the others', async (ms) => {
    const clock = manualClock()
    const ran: string[] = []
    clock.setTimeout(() => ran.push('odd'), ms as number)
    clock.setTimeout(() => ran.push('plain'), 5)
    await clock.advance('1s')
    expect([ran, clock.pending]).toEqual([['odd', 'plain'], 0])
  })

  it('never comes to a timer at no time', async () => {
    const clock = manualClock(0)
    clock.setTimeout(() => {}, Infinity)
    expect([await clock.next(), clock.now()]).toEqual([false, 0])
  })
})

it.each([
  [199, 'status'],
  [200, undefined],
  [299, undefined],
  [300, 'status'],
])('an attempt that is answered %d has the failure %s', async (status, failure) => {
  const answering = { send: async () => ({ status, headers: {}, body: '' }) }
  expect((await createSender({ target: answering, secret }).send(events.syncFailed())).failure).toBe(failure)
})
