import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { nextApiHandler, nextHandler } from 'postern/next'
import { events, signed } from 'postern/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { Gate } from '../../support/gate.ts'
import { createScene, deliver, expectAnswer, expectUntouched, SECRET, sample, serve } from './scene.ts'
import { exchange, head } from './wire.ts'

type WaitUntil = (work: Promise<unknown>) => void

const CONTEXTS = [Symbol.for('@next/request-context'), Symbol.for('@vercel/request-context')]

afterEach(() => {
  for (const symbol of CONTEXTS) Reflect.deleteProperty(globalThis, symbol)
})

/** A receiver whose handler waits until the test lets it finish. */
function createLateScene() {
  const gate = new Gate()
  return { ...createScene({ deadlineMs: 100 }, () => gate.promise), finish: gate.open }
}

it('has the types that Next.js asks of a route, and types the params of its source', () => {
  const { receiver } = createScene()
  const routes: {
    POST: (request: Request, context: { params: Promise<{ tenant: string }> }) => Promise<Response>
  }[] = [
    { POST: nextHandler(receiver, { source: (_request, { params }) => params.tenant }) },
    { POST: nextHandler<{ slug: string[] }>(receiver, { source: (_request, { params }) => params.slug[0] }) },
    {
      POST: nextHandler(receiver, {
        source: (_: Request, { params }: { params: { tenant?: string } }) => params.tenant,
      }),
    },
    // @ts-expect-error: a source is a text
    { POST: nextHandler<{ slug: string[] }>(receiver, { source: (_request, { params }) => params.slug }) },
    // @ts-expect-error: the route has no such param
    { POST: nextHandler<{ slug: string[] }>(receiver, { source: (_request, { params }) => params.tenant }) },
  ]
  // Next.js 15 compares what it passes with the second parameter of the route.
  type SecondOf<Route> = Route extends (...args: [never, infer Second]) => unknown ? Second : never
  const second: unknown extends SecondOf<ReturnType<typeof nextHandler>> ? true : false = true
  expect([routes.length, second]).toEqual([5, true])
})

describe('Pages Router', () => {
  /** Next.js with bodyParser on: it reads the body and leaves the parsed result. */
  const parse = (make: (bytes: Buffer) => unknown) => async (request: IncomingMessage) => {
    Object.assign(request, { body: make(await buffer(request)) })
  }
  it.each([
    ['an object', parse((bytes) => JSON.parse(bytes.toString()))],
    ['text', parse((bytes) => bytes.toString())],
  ])('answers 500 with the fix if bodyParser was left on, and made %s of the body', async (_, before) => {
    const scene = createScene()
    const handler = nextApiHandler(scene.receiver)
    const port = await serve(async (request, response) => {
      await before(request)
      await handler(request, response)
    })
    for (let n = 0; n < 2; n++) expectAnswer(await deliver({ port }, sample()), 500, 'body_consumed')
    expect(scene.log().split('\n')).toHaveLength(1)
    expect(scene.log()).toContain('export const config = { api: { bodyParser: false } }')
    expectUntouched(scene)
  })

  it('has answered when it resolves, so that Next.js does not warn of a request without an answer', async () => {
    const scene = createScene()
    const handler = nextApiHandler(scene.receiver)
    const sent: boolean[] = []
    const port = await serve(async (request, response) => {
      await handler(request, response)
      sent.push(response.headersSent)
    })
    await deliver({ port }, sample())
    await exchange(port, head({ ...sample().headers, 'content-length': 2_000_000 }))
    await expect.poll(() => sent).toEqual([true, true])
  })

  it('passes the source that the route names to the receiver', async () => {
    const { receiver, outcomes } = createScene({
      secret: ({ source }) => (source === 'acme' ? { secret: SECRET, accountKey: 'acme' } : undefined),
    })
    interface ApiRequest extends IncomingMessage {
      query: Partial<Record<string, string | string[]>>
    }
    const handler = nextApiHandler(receiver, { source: (request: ApiRequest) => String(request.query.tenant) })
    const port = await serve((request, response) =>
      handler(Object.assign(request, { query: { tenant: request.url?.split('/').at(-1) ?? '' } }), response),
    )
    const { bytes, headers } = sample()
    for (const tenant of ['acme', 'other']) await exchange(port, head(headers, { target: `/api/${tenant}` }), bytes)
    expect(outcomes.map(({ status }) => status)).toEqual([200, 401])
  })
})

describe('waitUntil', () => {
  const install = (symbol: symbol, context: unknown) =>
    Object.defineProperty(globalThis, symbol, { value: { get: () => context }, configurable: true })

  it.each(CONTEXTS)('is found under %s, in the App Router', async (symbol) => {
    const scene = createLateScene()
    const handed: Promise<unknown>[] = []
    const context = {
      handed,
      waitUntil(work: Promise<unknown>) {
        this.handed.push(work)
      },
    }
    install(symbol, context)
    const response = await nextHandler(scene.receiver)(signed(events.contact.created(), { secret: SECRET }).request())
    expect(response.status).toBe(503)
    expect(handed).toHaveLength(1)
    scene.finish()
    await handed[0]
    expect(scene.outcomes).toMatchObject([{ outcome: 'late' }, { outcome: 'handled', late: true }])
  })

  it.each(CONTEXTS)('is found under %s, in the Pages Router', async (symbol) => {
    const scene = createLateScene()
    const handed: Promise<unknown>[] = []
    const waitUntil: WaitUntil = (work) => handed.push(work)
    install(symbol, { waitUntil })
    const delivery = sample()
    expectAnswer(
      await deliver({ port: await serve(nextApiHandler(scene.receiver)) }, delivery),
      503,
      'late',
      delivery.id,
    )
    expect(handed).toHaveLength(1)
    scene.finish()
    await handed[0]
  })

  it('of the options takes precedence over that of the host', async () => {
    const scene = createLateScene()
    const [own, hosts]: [Promise<unknown>[], Promise<unknown>[]] = [[], []]
    install(Symbol.for('@next/request-context'), { waitUntil: (work: Promise<unknown>) => hosts.push(work) })
    const handle = nextHandler(scene.receiver, { waitUntil: (work) => own.push(work) })
    await handle(signed(events.contact.created(), { secret: SECRET }).request())
    expect([own.length, hosts.length]).toEqual([1, 0])
    scene.finish()
  })

  it.each([undefined, null, {}, { waitUntil: undefined }, { waitUntil: 'no' }])(
    'is not needed if the host has none: %j',
    async (context) => {
      const scene = createScene()
      install(Symbol.for('@next/request-context'), context)
      const response = await nextHandler(scene.receiver)(signed(events.contact.created(), { secret: SECRET }).request())
      expect(response.status).toBe(200)
    },
  )
})
