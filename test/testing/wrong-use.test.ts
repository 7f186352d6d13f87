import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  createEvents,
  createSender,
  events,
  fastifyTarget,
  fetchTarget,
  manualClock,
  nodeTarget,
  signed,
  storeSuite,
  urlTarget,
} from 'postern/testing'
import 'postern/testing/vitest'
import { describe, expect, it } from 'vitest'
import { secret } from './support.ts'

/** Values that plain JavaScript may pass. */
const loose = <Given extends unknown[]>(method: (...given: Given) => unknown) =>
  method as (...given: unknown[]) => unknown

// Each of these once made a delivery that no app accepted, or that was sent wrongly: a test for a refusal then passes.
describe('is refused when it is made', () => {
  it.each<[what: string, told: RegExp, make: () => unknown]>([
    [
      'a sender to an app',
      /a function; give a target: nodeTarget/,
      () => loose(createSender)({ target: () => {}, secret }),
    ],
    ['a fetch target of an app', /give app\.fetch/, () => loose(fetchTarget)({ fetch() {} })],
    ['a Fastify target of another app', /nodeTarget\(\) or fetchTarget\(\)/, () => loose(fastifyTarget)(() => {})],
    ['a path beside a URL', /no option "path".*that of the URL/, () => loose(urlTarget)('http://x/', { path: '/y' })],
    [
      'a misspelt option of transactions',
      /"isAsync"/,
      () => loose(storeSuite)(() => {}, { transaction: { write() {}, has() {}, isAsync: false } }),
    ],
    ['a URL of another protocol', /begins with http/, () => urlTarget('shttp://localhost:3000/webhooks')],
    [
      'a builder that was not called',
      /is a function; give an/,
      () => loose(signed)(events.contact.created, { secret }),
    ],
    [
      'a promise of an event',
      /is a promise; give/,
      () => loose(signed)(Promise.resolve(events.syncFailed()), { secret }),
    ],
    ['what is signed already', /as text/, () => loose(signed)(signed(events.syncFailed(), { secret }), { secret })],
    ['a type for a model', /give the key of a model/, () => events.model('contact.created')],
    ['a secret that stands alone', /signed: it takes one object/, () => loose(signed)(events.syncFailed(), secret)],
  ])('%s', (_what, told, make) => {
    expect(make).toThrow(told)
  })
})

describe('an envelope', () => {
  it('keeps its own value, and the id of the record, if it gets an undefined one', () => {
    const record: object = { _id: undefined }
    const envelope: object = { id: undefined, accountKey: undefined, timestamp: undefined }
    const [one, other] = [createEvents({ seed: 1 }), createEvents({ seed: 1 })]
    expect(one.contact.created(record, envelope)).toEqual(other.contact.created())
  })
})

describe('a matcher', () => {
  const rejected = { status: 401, body: '' }
  it.each<[told: RegExp, match: () => unknown]>([
    [/await it/, () => expect(Promise.resolve(rejected)).not.toBeAcknowledged()],
    [/no attempt has ended yet: await/, () => expect({ status: 'pending', attempts: [] }).not.toBeAcknowledged()],
    [/no attempt has ended yet: await/, () => expect({ status: 'pending', attempts: [] }).not.toBeRejected(401)],
    [/status is 500; give a 4xx status/, () => expect({ status: 500, body: '' }).not.toBeRejected(500)],
    [/with { total: 1n }; no handler ran/, () => expect({ runs: [] }).toHaveHandled('x.created', { total: 1n })],
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
