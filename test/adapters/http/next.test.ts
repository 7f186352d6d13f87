import { json } from 'node:stream/consumers'
import { nextApiHandler, nextHandler } from 'postern/next'
import { events, signed } from 'postern/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { createScene, deliver, expectAnswer, expectUntouched, SECRET, sample, serve } from './scene.ts'

const CONTEXTS = [Symbol.for('@next/request-context'), Symbol.for('@vercel/request-context')] as const

afterEach(() => {
  for (const symbol of CONTEXTS) Reflect.deleteProperty(globalThis, symbol)
})

type Late = ReturnType<typeof createScene>

/** A receiver whose handlers never end. */
const createLateScene = () => createScene({ deadlineMs: 100 }, () => new Promise(() => {}))
const newRequest = () => signed(events.contact.created(), { secret: SECRET }).request()

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

it('answers 500 with the fix in the Pages Router if bodyParser was left on, which leaves the parsed body', async () => {
  const scene = createScene()
  const handler = nextApiHandler(scene.receiver)
  const port = await serve(async (request, response) => {
    await handler(Object.assign(request, { body: await json(request) }), response)
  })
  for (let n = 0; n < 2; n++) expectAnswer(await deliver({ port }, sample()), 500, 'body_consumed')
  expect(scene.log().split('\n')).toHaveLength(1)
  expect(scene.log()).toContain('export const config = { api: { bodyParser: false } }')
  expectUntouched(scene)
})

describe('waitUntil', () => {
  const install = (symbol: symbol, context: unknown) =>
    Object.defineProperty(globalThis, symbol, { value: { get: () => context }, configurable: true })

  const routers = [
    ['App', ({ receiver }: Late) => nextHandler(receiver)(newRequest())],
    ['Pages', async ({ receiver }: Late) => deliver({ port: await serve(nextApiHandler(receiver)) }, sample())],
  ] as const
  it.each(CONTEXTS.flatMap((symbol) => routers.map((router) => [symbol, ...router] as const)))(
    'is found under %s, in the %s Router',
    async (symbol, _router, ask) => {
      const context = {
        handed: [] as unknown[],
        waitUntil(work: unknown) {
          this.handed.push(work)
        },
      }
      install(symbol, context)
      expect((await ask(createLateScene())).status).toBe(503)
      expect(context.handed).toHaveLength(1)
    },
  )

  it('of the options takes precedence over that of the host', async () => {
    const { receiver } = createLateScene()
    const [own, hosts]: [unknown[], unknown[]] = [[], []]
    install(CONTEXTS[0], { waitUntil: (work: unknown) => hosts.push(work) })
    await nextHandler(receiver, { waitUntil: (work) => own.push(work) })(newRequest())
    expect([own.length, hosts.length]).toEqual([1, 0])
  })

  it.each([undefined, null, {}, { waitUntil: undefined }, { waitUntil: 'no' }])(
    'is not needed if the host has none: %j',
    async (context) => {
      install(CONTEXTS[0], context)
      expect((await nextHandler(createScene().receiver)(newRequest())).status).toBe(200)
    },
  )
})
