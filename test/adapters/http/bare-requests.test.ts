import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import type { PosternError } from 'postern'
import { nextHandler } from 'postern/next'
import { type FetchRequest, fetchHandler } from 'postern/web'
import { describe, expect, it } from 'vitest'
import { NodeRequest } from '../../../adapters/http/body.ts'
import { createScene, sample } from './scene.ts'

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

/** The request of Azure Functions v4: a Request is behind it, and its methods and getters are those that Azure passes on. */
class AzureRequest {
  readonly #request: Request
  readonly params = { tenant: 'acme' }

  constructor(request: Request) {
    this.#request = request
  }

  get method() {
    return this.#request.method
  }

  get headers() {
    return this.#request.headers
  }

  get body() {
    return this.#request.body
  }

  get bodyUsed() {
    return this.#request.bodyUsed
  }

  arrayBuffer() {
    return this.#request.arrayBuffer()
  }
}

const failing = (thrown: unknown) => new ReadableStream({ pull: (controller) => controller.error(thrown) })
const rejecting = (thrown: unknown) => ({ body: undefined, arrayBuffer: () => Promise.reject(thrown) })

describe('a request', () => {
  it.each<[string, object]>([
    ['a signal', { signal: undefined }],
    ['a method', { method: undefined }],
    ['bodyUsed', { bodyUsed: undefined }],
    ['arrayBuffer', { arrayBuffer: undefined }],
    ['a stream', { body: undefined }],
    ['a stream of Fetch', { body: Readable.from([]) }],
    [
      'all but its headers and arrayBuffer',
      { method: undefined, body: undefined, bodyUsed: undefined, signal: undefined },
    ],
  ])('without %s is handled', async (_what, own) => {
    const { receiver, errors } = createScene()
    expect((await fetchHandler<FetchRequest>(receiver)(bare(own).request)).status).toBe(200)
    expect(errors).toEqual([])
  })

  it('may return undefined for a header that is absent', async () => {
    const { receiver } = createScene()
    const { request, headers } = bare({})
    const get = (name: string) => (name === 'content-length' ? undefined : headers[name])
    expect((await fetchHandler<FetchRequest>(receiver)({ ...request, headers: { get: get as never } })).status).toBe(
      200,
    ) // as a Map
  })

  it.each<[string, object, string]>([
    ['only has text()', { body: undefined, arrayBuffer: undefined, text: async () => '' }, 'arrayBuffer'],
    ['only has json()', { body: null, arrayBuffer: undefined, json: async () => ({}) }, 'arrayBuffer'],
    ['has a stream that throws', { body: { getReader: () => null } }, 'read'],
    [
      'comes through a stream of the app that fails',
      { body: failing(new TypeError('x is not a function')) },
      'x is not',
    ],
  ])('that %s is answered 500, and its owner is told why', async (_what, own, why) => {
    const { receiver, errors } = createScene()
    const response = await fetchHandler<FetchRequest>(receiver)(bare(own).request)
    expect([response.status, await response.json()]).toEqual([500, { code: 'unexpected' }])
    const [error] = errors as readonly [PosternError]
    expect(error).toMatchObject({ code: 'unexpected', cause: { name: 'TypeError' } })
    expect(error.message).toContain(why)
  })

  it.each<[string, object, string]>([
    ['its stream', { body: failing(new Error('reset by peer')) }, 'body_incomplete'],
    [
      'its stream, as the host calls it a TypeError,',
      { body: failing(new TypeError('reset')), signal: AbortSignal.abort() },
      'body_incomplete',
    ],
    ['its arrayBuffer', rejecting(new DOMException('gone', 'AbortError')), 'body_incomplete'],
  ])('whose sender ends %s is refused', async (_what, own, code) => {
    const { receiver, outcomes, errors } = createScene()
    expect((await fetchHandler<FetchRequest>(receiver)(bare(own).request)).status).toBe(400)
    expect([outcomes, errors]).toMatchObject([[{ code }], []])
  })

  it('that was read before, and has no stream, is the app’s mistake', async () => {
    const { receiver, outcomes } = createScene()
    const handle = fetchHandler<FetchRequest>(receiver)
    await handle(bare(rejecting(new TypeError('Body is unusable'))).request)
    await handle(bare({ body: undefined, bodyUsed: true }).request)
    expect(outcomes).toMatchObject([{ code: 'body_consumed' }, { code: 'body_consumed' }])
  })

  it.each([
    ['none', 401],
    ['valid', 500],
  ] as const)('whose body throws, with a signature that is %s, is answered %i', async (signature, status) => {
    const { receiver } = createScene()
    const { request } = bare({}, signature === 'none' ? { tamper: 'no-header' } : {})
    const throwing = Object.defineProperty({ ...request }, 'body', {
      get() {
        throw new Error('no body here')
      },
    })
    expect((await fetchHandler<FetchRequest>(receiver)(throwing)).status).toBe(status)
  })
})

it('mounts in one line on Azure Functions, which has no signal', async () => {
  const { receiver, outcomes } = createScene()
  const handler: (request: AzureRequest, context: object) => Promise<object> = fetchHandler<AzureRequest>(receiver, {
    source: ({ params }) => params.tenant,
  })
  for (const tamper of ['none', 'flip-bit'] as const) {
    const { bytes, headers } = sample({ tamper })
    const init = { method: 'POST', headers: Object.entries(headers).map(([name, value]) => [name, String(value)]) }
    const request = new Request('https://app.example.test/', { ...init, body: new Uint8Array(bytes) } as RequestInit) // pairs
    await handler(new AzureRequest(request), { invocationId: '1' })
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

  async function take(request: object) {
    const { receiver, errors } = createScene()
    const { status } = await receiver.handle(new NodeRequest(request as never, new EventEmitter() as never, {}, ''))
    return { status, errors }
  }

  it('may be a bare stream', async () => {
    expect(await take(standIn())).toEqual({ status: 200, errors: [] })
  })

  it.each<[string, () => object]>([
    ['lacks what a stream has', () => Object.assign(standIn(), { on: undefined })],
    ['ends by a defect of the app', () => standIn(new TypeError('x is not a function'))],
  ])('that %s is answered 500, and its owner is told why', async (_what, make) => {
    const { status, errors } = await take(make())
    expect([status, errors]).toMatchObject([500, [{ code: 'unexpected', cause: { name: 'TypeError' } }]])
  })

  it('whose sender ends it is refused', async () => {
    expect(await take(standIn(new Error('aborted')))).toEqual({ status: 400, errors: [] })
  })
})

describe('the params of a route of Next.js', () => {
  const tenants = { secret: () => ({ secret: '', accountKey: '' }) }
  it.each([
    ['a promise', Promise.resolve({ tenant: 'acme' })],
    ['an object, before Next.js 15', { tenant: 'acme' }],
  ])('reach the source, from %s', async (_what, params) => {
    const sources: (string | undefined)[] = []
    const { receiver } = createScene({ ...tenants, secret: ({ source }) => void sources.push(source) })
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
