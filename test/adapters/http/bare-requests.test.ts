import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import { sign } from 'postern'
import { nextHandler } from 'postern/next'
import { type FetchRequest, fetchHandler } from 'postern/web'
import { describe, expect, it } from 'vitest'
import { NodeRequest } from '../../../adapters/http/body.ts'
import { createScene, SECRET, sample } from './scene.ts'

type Bare = Partial<FetchRequest> & { readonly url: string }

/** A request as a host may make it: it has what Fetch requires, but for what a test replaces. */
function bare(own: object, { tamper }: Parameters<typeof sample>[0] = {}) {
  const { bytes, headers, id } = sample({ ...(tamper && { tamper }) })
  const request: Bare = {
    method: 'POST',
    url: 'https://app.example.test/webhooks',
    headers: { get: (name: string) => String(headers[name] ?? '') || null },
    body: new Blob([new Uint8Array(bytes)]).stream(),
    bodyUsed: false,
    signal: new AbortController().signal,
    arrayBuffer: async () => new Uint8Array(bytes).buffer,
    ...own,
  }
  return { request: request as FetchRequest, bytes, headers, id } // what is missing is what is tested
}

/** Headers without a length, of a delivery with another body. */
const UNDECLARED = { get: (name: string) => (name === 'x-service-signature' ? sign('', SECRET) : null) }

const failing = (thrown: unknown) => new ReadableStream({ pull: (controller) => controller.error(thrown) })
const rejecting = (thrown: unknown) => ({ body: undefined, arrayBuffer: () => Promise.reject(thrown) })

describe('a request', () => {
  it.each<[string, object, number, string, (string | undefined)?]>([
    ['without arrayBuffer is handled', { arrayBuffer: undefined }, 200, 'handled'],
    ['without a stream of Fetch is handled', { body: Readable.from([]) }, 200, 'handled'],
    [
      'without all but its headers and arrayBuffer is handled',
      { method: undefined, body: undefined, bodyUsed: undefined, signal: undefined },
      200,
      'handled',
    ],
    [
      'that only has text() is told to its owner',
      { body: undefined, arrayBuffer: undefined, text: async () => '' },
      500,
      'unexpected',
      'arrayBuffer',
    ],
    ['whose stream throws is told to its owner', { body: { getReader: () => null } }, 500, 'unexpected', 'read'],
    [
      'through a stream of the app that fails is told to its owner',
      { body: failing(new TypeError('x is not a function')) },
      500,
      'unexpected',
      'x is not',
    ],
    ['whose sender ends its stream is refused', { body: failing(new Error('reset by peer')) }, 400, 'body_incomplete'],
    [
      'whose sender ends its stream by what the host calls a TypeError is refused',
      { body: failing(new TypeError('reset')), signal: AbortSignal.abort() },
      400,
      'body_incomplete',
    ],
    [
      'whose sender ends its arrayBuffer is refused',
      rejecting(new DOMException('gone', 'AbortError')),
      400,
      'body_incomplete',
    ],
    [
      'whose stream its host ends as if it were whole is refused',
      { body: new Blob(['{']).stream(), headers: UNDECLARED, signal: AbortSignal.abort() },
      400,
      'body_incomplete',
    ],
    ['that was read before is told to its owner', { body: undefined, bodyUsed: true }, 500, 'body_consumed', 'read'],
    [
      'whose arrayBuffer was read before is told to its owner',
      rejecting(new TypeError('Body is unusable')),
      500,
      'body_consumed',
      'read',
    ],
  ])('%s', async (_what, own, status, code, told) => {
    const { receiver, errors } = createScene()
    const response = await fetchHandler<FetchRequest>(receiver)(bare(own).request)
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual(status === 200 ? { code, id: expect.any(String) } : { code })
    expect(errors).toMatchObject(told === undefined ? [] : [{ code, message: expect.stringContaining(told) }])
  })

  it.each([
    ['POST', 'no-header', 401],
    ['POST', 'none', 500],
    ['TRACK', 'none', 405], // Fetch cannot open it
  ] as const)(
    'whose body throws, of the method %s and with the fault %s, is answered %i',
    async (method, tamper, status) => {
      const { receiver } = createScene()
      const throwing = Object.defineProperty({ ...bare({ method }, { tamper }).request }, 'body', {
        get() {
          throw new TypeError('no body here')
        },
      })
      expect((await fetchHandler<FetchRequest>(receiver)(throwing)).status).toBe(status)
    },
  )

  it.each<[string, number, object, number]>([
    ['of HTTP/1', 1, {}, 1],
    ['of HTTP/2, whose fragments may retain what the host read with them,', 2, {}, 0],
    ['that a lenient parser let through with two lengths', 1, { 'transfer-encoding': 'chunked' }, 0],
  ])(
    'that its host replaced by a light one %s is read by its own arrayBuffer if that keeps only the bytes',
    async (_, httpVersionMajor, more, times) => {
      const { receiver } = createScene()
      const { request, headers } = bare({ [Symbol('incoming')]: { httpVersionMajor } })
      let reads = 0
      const arrayBuffer = () => {
        reads++
        return request.arrayBuffer()
      }
      const light = { ...request, arrayBuffer, headers: new Map(Object.entries({ ...headers, ...more })) as never } // absent ones are undefined
      expect((await fetchHandler<FetchRequest>(receiver)(light)).status).toBe(200)
      expect(reads).toBe(times)
    },
  )
})

it('mounts in one line on Azure Functions, whose request inherits everything and has no signal', async () => {
  const { receiver, outcomes } = createScene()
  type AzureRequest = FetchRequest & { readonly params: { readonly tenant: string } }
  const handler: (request: AzureRequest, context: object) => Promise<object> = fetchHandler<AzureRequest>(receiver, {
    source: ({ params }) => params.tenant,
  })
  for (const tamper of ['none', 'flip-bit'] as const) {
    const { request } = bare({ signal: undefined }, { tamper })
    await handler(Object.create(request, { params: { value: { tenant: 'acme' } } }), { invocationId: '1' })
  }
  expect(outcomes.map(({ status }) => status)).toEqual([200, 401])
  expect(() => fetchHandler<FetchRequest>(receiver)({ ...bare({}).request, headers: {} as never })).toThrow('a Request') // of another host
})

describe('a request of Node', () => {
  /** A stream with the head of a delivery, and nothing else of a request. */
  function standIn(thrown?: Error) {
    const { bytes, headers } = sample()
    const failing = new Readable({ read: () => failing.destroy(thrown) })
    const stream = thrown === undefined ? Readable.from([bytes], { objectMode: false }) : failing
    return Object.assign(stream, { method: 'POST', headers: { ...headers, 'content-length': String(bytes.length) } })
  }

  const unexpected = { code: 'unexpected', cause: { name: 'TypeError' } }
  it.each<[string, () => object, number, readonly object[]]>([
    ['is a bare stream is handled', () => standIn(), 200, []],
    [
      'lacks what a stream has is told to its owner',
      () => Object.assign(standIn(), { on: undefined }),
      500,
      [unexpected],
    ],
    ['ends by a defect of the app is, too', () => standIn(new TypeError('x is not a function')), 500, [unexpected]],
    ['its sender ends is refused', () => standIn(new Error('aborted')), 400, []],
  ])('that %s', async (_what, make, status, told) => {
    const { receiver, errors } = createScene()
    const request = new NodeRequest(make() as never, new EventEmitter() as never, {}, '')
    expect([await receiver.handle(request), errors]).toMatchObject([{ status }, told])
    expect(errors).toHaveLength(told.length)
  })
})

describe('the params of a route of Next.js', () => {
  it.each([
    ['a promise', Promise.resolve({ tenant: 'acme' })],
    ['an object, before Next.js 15', { tenant: 'acme' }],
  ])('reach the source, from %s', async (_what, params) => {
    const sources: (string | undefined)[] = []
    const { receiver } = createScene({ secret: ({ source }) => void sources.push(source) })
    const POST = nextHandler(receiver, { source: (_request, { params: { tenant } }) => tenant })
    await POST(bare({}).request as Request, { params }) // what the adapter reads of one
    expect(sources).toEqual(['acme'])
  })

  it('that a test forgets to pass are the app’s mistake, which the message names', async () => {
    const { receiver, errors } = createScene()
    const POST = nextHandler(receiver, { source: (_request, { params }) => params.tenant })
    expect((await POST(bare({}).request as Request)).status).toBe(503) // as above
    expect(errors[0]).toMatchObject({ code: 'secrets_unavailable', message: expect.stringContaining("'tenant'") })
  })
})
