import type { IncomingMessage, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import express5, { type ErrorRequestHandler, type Express } from 'express'
import express4 from 'express4'
import { captureRawBody, expressHandler } from 'postern/express'
import { describe, expect, it } from 'vitest'
import { Gate } from '../../support/gate.ts'
import { createScene, deliver, expectAnswer, expectHandled, expectUntouched, sample, sampleOf, serve } from './scene.ts'
import { exchange, head } from './wire.ts'

const timeout = createRequire(import.meta.url)('connect-timeout') // untyped

type Handler = ReturnType<typeof expressHandler>

describe.each([
  ['Express 4', express4],
  ['Express 5', express5],
])('%s', (_, express) => {
  /** Starts an app with a receiver, on a free port until the test ends. */
  async function start(mount: (app: Express, handler: Handler) => void) {
    const scene = createScene()
    const app = express()
    mount(app, expressHandler(scene.receiver))
    const port = await serve(app)
    return { ...scene, port }
  }

  describe('with body parsers', () => {
    it.each([
      ['json', () => express.json()],
      ['text', () => express.text({ type: '*/*' })],
    ])('answers 500 below express.%s(), and reports the fix once', async (__, parser) => {
      const scene = await start((app, handler) => {
        app.use(parser())
        app.post('/webhooks', handler)
      })
      for (let n = 0; n < 3; n++) expectAnswer(await deliver(scene, sample()), 500, 'body_consumed')
      expectUntouched(scene)
      expect(scene.errors.map(({ code }) => code)).toEqual(Array(3).fill('body_consumed'))
      expect(scene.log().split('\n')).toHaveLength(1)
      expect(scene.log()).toContain('Mount the receiver above it')
      expect(scene.log()).toContain('app.use(express.json({ verify: captureRawBody }))')
      expect(scene.outcomes[0]).toMatchObject({ outcome: 'error', status: 500, code: 'body_consumed' })
    })

    it('works below express.json({ verify: captureRawBody })', async () => {
      const scene = await start((app, handler) => {
        app.use(express.json({ verify: captureRawBody }))
        app.post('/webhooks', handler)
      })
      const delivery = sample()
      expectAnswer(await deliver(scene, delivery), 200, 'handled', delivery.id)
      expectAnswer(await deliver(scene, sample({ tamper: 'flip-bit' })), 401, 'unauthorized')
      expectAnswer(await deliver(scene, sample({ tamper: 'reserialised' })), 401, 'unauthorized')
      expectAnswer(await deliver(scene, sampleOf('')), 400, 'invalid_json')
      expect([...scene.runs]).toEqual([[delivery.id, 1]])
    })

    it('works below express.raw(), which leaves the bytes in request.body', async () => {
      const scene = await start((app, handler) => {
        app.post('/webhooks', express.raw({ type: '*/*' }), handler)
      })
      await expectHandled(scene)
      expectAnswer(await deliver(scene, sample({ tamper: 'flip-bit' })), 401, 'unauthorized')
    })

    it('treats a body that a parser found empty as empty', async () => {
      const scene = await start((app, handler) => {
        app.use(express.json())
        app.post('/webhooks', handler)
      })
      expectAnswer(await deliver(scene, sampleOf('')), 400, 'invalid_json')
      expectAnswer(
        await deliver(scene, { ...sample(), bytes: Buffer.alloc(0) }, { 'content-length': 0 }),
        401,
        'unauthorized',
      )
    })
  })

  describe('under app.use', () => {
    const startMounted = () =>
      start((app, handler) => {
        app.use('/webhooks', handler)
        app.use((request, response) => void response.status(418).send(`the app's own: ${request.url}`))
      })

    it.each(['/webhooks', '/webhooks/', '/webhooks?a=/b', '/webhooks/?a=b'])('answers %s', async (target) => {
      const scene = await startMounted()
      await expectHandled(scene, { target })
    })

    it.each(['/webhooks/deeper', '/webhooks/deeper?a=b', '/other', '/'])('leaves %s to the app', async (target) => {
      const scene = await startMounted()
      const { bytes, headers } = sample()
      const answer = await exchange(scene.port, head(headers, { target }), bytes)
      expect(answer).toMatchObject({ status: 418, body: `the app's own: ${target}` })
      expectUntouched(scene)
      expect(scene.outcomes).toEqual([])
    })

    it('answers GET with 405', async () => {
      const scene = await startMounted()
      const answer = await exchange(scene.port, head({}, { method: 'GET' }))
      expectAnswer(answer, 405, 'method_not_allowed')
      expect(answer.headers.allow).toBe('POST')
    })
  })

  it.each<[string, (app: Express, handler: Handler) => void]>([
    ['app.all', (app, handler) => app.all('/in/webhooks', handler)],
    [
      'a router of a router',
      (app, handler) => app.use('/in', express.Router().use('/webhooks', express.Router().post('/', handler))),
    ],
    ['a router with use', (app, handler) => app.use('/in', express.Router().use('/webhooks', handler))],
    ['a path pattern', (app, handler) => app.post('/:a/webhooks', handler)],
    ['a wrapper', (app, handler) => app.post('/in/webhooks', (...args) => void handler(...args).catch(args[2]))],
  ])('answers below %s, also a target that is an absolute URL', async (__, mount) => {
    const scene = await start(mount)
    for (const origin of ['', 'http://localhost']) await expectHandled(scene, { target: `${origin}/in/webhooks?a=b` })
  })

  it.each<[string, string, (app: Express, handler: Handler) => unknown]>([
    ['a path', '/webhooks', (app, handler) => app.use('/webhooks', handler)],
    ['a parameter', '/webhooks/acme', (app, handler) => app.use('/webhooks/:tenant', handler)],
    ['a function of the app', '/webhooks', (app, handler) => app.use('/webhooks', (q, s, n) => void handler(q, s, n))],
    ['no path', '/', (app, handler) => app.use(handler)],
  ])(
    'leaves deeper paths to other handlers under app.use with %s, below a route that calls next()',
    async (_what, path, mount) => {
      const scene = await start((app, handler) => {
        app.all(/.*/, (_request: IncomingMessage, _response: ServerResponse, next: () => void) => next())
        mount(app, handler)
        app.use((_request: IncomingMessage, response: ServerResponse) => {
          response.writeHead(404, { 'content-type': 'application/json', 'content-length': 16 }).end('{"code":"other"}')
        })
      })
      const { bytes, headers, id } = sample()
      const ask = (target: string) => exchange(scene.port, head(headers, { target }), bytes)
      const below = path === '/' ? '' : path
      expectAnswer(await ask(`${below}/deeper`), 404, 'other')
      expectAnswer(await ask(`${path}?a=b`), 200, 'handled', id)
    },
  )

  it.each<[string, string, (app: Express, handler: Handler) => unknown]>([
    ['a path', '/webhooks', (app, handler) => app.post('/webhooks', handler)],
    ['a path in another case', '/Webhooks/', (app, handler) => app.post('/webhooks', handler)],
    ['several paths', '/b', (app, handler) => app.post(['/a', '/b'], handler)],
    ['a parameter', '/in/acme', (app, handler) => app.post('/in/:tenant', handler)],
    ['a regular expression', '/webhooks', (app, handler) => app.post(/^\/webhooks$/, handler)],
  ])('answers within a function of the app at a route of %s', async (_what, target, mount) => {
    const scene = await start((app, handler) => {
      app.all(/.*/, (_request: IncomingMessage, _response: ServerResponse, next: () => void) => next())
      mount(app, async (request: IncomingMessage, response: ServerResponse, next?: () => void) =>
        handler(request, response, next),
      )
    })
    await expectHandled(scene, { target })
  })

  it.each<[string, (app: Express, handler: Handler) => unknown]>([
    ['a route', (app, handler) => app.post('/webhooks', (request, response) => void handler(request, response))],
    [
      'a check of the path by the app',
      (app, handler) =>
        app.use((request, response, next) => void (request.path === '/webhooks' ? handler(request, response) : next())),
    ],
    [
      'a function platform, which has parsed the body',
      (app, handler) => {
        app.use(express.json({ verify: captureRawBody }))
        app.use((request, response) => process.nextTick(handler, request, response))
      },
    ],
  ])('answers without next below %s', async (__, mount) => {
    const scene = await start(mount)
    await expectHandled(scene)
    await expectHandled(scene, { target: 'http://localhost/webhooks' })
    expect(scene.log()).toBe('')
  })

  it.each<[string, (app: Express, handler: Handler) => unknown]>([
    [
      'a check of the path by the app',
      (app, handler) =>
        app.use((request, response, next) =>
          request.path === '/webhooks' ? handler(request, response, next) : next(),
        ),
    ],
    ['a router on a route', (app, handler) => app.post('/webhooks', express.Router().use(handler))],
  ])('reports once that it passed a signed POST on below %s', async (__, mount) => {
    const scene = await start((app, handler) => {
      mount(app, handler)
      app.use((_request, response) => void response.end('the page of the app'))
    })
    await exchange(scene.port, head({}))
    await exchange(scene.port, head({}, { method: 'GET' }))
    expect(scene.errors).toEqual([])
    for (let n = 0; n < 2; n++) await deliver(scene, sample())
    await expect.poll(() => scene.errors).toMatchObject([{ code: 'delivery_passed_on' }])
    expect(scene.log()).toContain("Mount it on a route, app.post('/webhooks', expressHandler(receiver))")
  })

  it('does not report a signed POST that another receiver answers', async () => {
    const inner = createScene()
    const scene = await start((app, handler) => {
      app.use('/webhooks', handler)
      app.use('/webhooks/inner', expressHandler(inner.receiver))
    })
    await expectHandled(scene, { target: '/webhooks/inner' })
    expect([inner.runs.size, scene.runs.size]).toEqual([1, 0])
    expect(await scene.receiver.close({ timeoutMs: Infinity })).toEqual({ unfinished: 0 })
    expect(scene.errors).toEqual([])
  })

  it('reports that the app had answered before', async () => {
    const scene = await start((app, handler) => {
      app.post('/webhooks', (_request, response, next) => {
        response.sendStatus(202)
        next()
      })
      app.post('/webhooks', handler)
    })
    expect((await deliver(scene, sample({ tamper: 'no-header' }))).status).toBe(202)
    await expect.poll(() => scene.errors).toMatchObject([{ code: 'answer_unsent' }])
    expect(scene.log()).toContain('The answer 401 was not sent: something else had answered 202.')
  })

  it('cuts off a sender whose answer was begun before, and reports it', async () => {
    const scene = await start((app, handler) => {
      app.post('/webhooks', (_request, response, next) => {
        response.flushHeaders() // as a heartbeat does
        next()
      })
      app.post('/webhooks', handler)
    })
    // The test's client takes what came before the connection ended.
    expect(await deliver(scene, sample())).toMatchObject({ status: 200, body: '' })
    expect(scene.errors).toMatchObject([{ code: 'answer_unsent' }])
    expect(await scene.receiver.close({ timeoutMs: Infinity })).toEqual({ unfinished: 0 })
  })

  it('lives on if connect-timeout answers while the handlers run', async () => {
    const gate = new Gate()
    const { receiver, errors } = createScene({}, () => gate.promise)
    const app = express().use(timeout('50ms'))
    app.post('/webhooks', expressHandler(receiver))
    app.use(((_error, _request, response, _next) => void response.sendStatus(503)) as ErrorRequestHandler)
    const port = await serve(app)
    expect((await deliver({ port }, sample())).status).toBe(503)
    gate.open()
    await expect.poll(() => errors).toMatchObject([{ code: 'answer_unsent' }])
  })

  it('cuts off a sender to whom a wrapped response cannot answer, and reports why', async () => {
    const scene = await start((app, handler) => {
      app.use((_request, response, next) => {
        response.writeHead = () => {
          throw new Error('no such cookie')
        }
        next()
      })
      app.post('/webhooks', handler)
    })
    for (const delivery of [sample(), sample({ tamper: 'no-header' })])
      await expect(deliver(scene, delivery)).rejects.toThrow('the connection ended without an answer')
    expect(scene.errors).toMatchObject([{ code: 'answer_unsent', cause: { message: 'no such cookie' } }, {}])
  })
})
