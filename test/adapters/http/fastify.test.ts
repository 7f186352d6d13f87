import { text } from 'node:stream/consumers'
import fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import { type FastifyPluginOptions, fastifyPlugin } from 'postern/fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import { portOf } from './hosts.ts'
import { createScene, deliver, expectAnswer, expectHandled, expectUntouched, sample } from './scene.ts'
import { exchange, head, Wire } from './wire.ts'

type Mount = (app: FastifyInstance, plugin: FastifyPluginOptions) => unknown

const mountAtWebhooks: Mount = (app, plugin) => app.register(fastifyPlugin, { ...plugin, url: '/webhooks' })

async function start(mount: Mount = mountAtWebhooks, options: FastifyServerOptions = {}) {
  const scene = createScene()
  const app = fastify({ forceCloseConnections: true, ...options })
  onTestFinished(() => app.close())
  await mount(app, { receiver: scene.receiver })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { ...scene, app, port: portOf(app.server) }
}

it('tells once of signed requests that the app answers 404, until one has come to it', async () => {
  const { bytes, headers } = sample()
  const scene = await start()
  for (const target of ['/webhooks/', '/']) await exchange(scene.port, head(headers, { target }), bytes)
  expect(scene.log()).toMatch(/404 to a signed POST of \\?"\/webhooks\/\\?"; fastifyPlugin answers \\?"\/webhooks\\?"/)
  expect(scene.log().match(/answered 404/g)).toHaveLength(1)
  const right = await start()
  await expectHandled(right)
  await exchange(right.port, head(headers, { target: '/' }), bytes)
  expect(right.log()).not.toContain('404')
})

describe('beside other routes', () => {
  const echo = (app: FastifyInstance, url: string) => app.post(url, async (request) => ({ got: request.body }))
  const ask = async (port: number, target: string) => {
    const json = { 'content-type': 'application/json', 'content-length': 7 }
    return (await exchange(port, head(json, { target }), '{"a":1}')).body
  }

  it('keep their parser, above, below and beside', async () => {
    const scene = await start(async (app, plugin) => {
      echo(app, '/before')
      await mountAtWebhooks(app, plugin)
      echo(app, '/after')
      await app.register(async (scope) => void echo(scope, '/beside'))
    })
    for (const target of ['/before', '/after', '/beside']) expect(await ask(scene.port, target)).toBe('{"got":{"a":1}}')
    await expectHandled(scene)
  })

  it('uses neither their parsers nor the bodyLimit of the app', async () => {
    const parsed: unknown[] = []
    const mount: Mount = async (app, plugin) => {
      app.removeAllContentTypeParsers()
      app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, parsed.push(body)))
      await mountAtWebhooks(app, plugin)
    }
    await expectHandled(await start(mount, { bodyLimit: 10 }))
    expect(parsed).toEqual([])
  })

  it('can be registered several times in one app', async () => {
    const other = createScene({ name: 'other', secret: 'another secret' })
    const scene = await start(async (app, plugin) => {
      await mountAtWebhooks(app, plugin)
      await app.register(fastifyPlugin, { receiver: other.receiver, url: '/others' })
    })
    const { bytes, headers, id } = sample()
    expectAnswer(await exchange(scene.port, head(headers, { target: '/others' }), bytes), 401, 'unauthorized')
    expectAnswer(await exchange(scene.port, head(headers), bytes), 200, 'handled', id)
    expectUntouched(other)
  })
})

describe('its path', () => {
  it.each<[string, Mount]>([
    ['a prefix', (app, plugin) => app.register(fastifyPlugin, { ...plugin, prefix: '/in/webhooks' })],
    [
      'a prefix and a url',
      (app, plugin) => app.register(fastifyPlugin, { ...plugin, prefix: '/in', url: '/webhooks' }),
    ],
    [
      'the prefix of a scope',
      (app, plugin) => app.register(async (scope) => void (await mountAtWebhooks(scope, plugin)), { prefix: '/in' }),
    ],
  ])('is set by %s', async (_, mount) => {
    const scene = await start(mount)
    const { bytes, headers, id } = sample()
    expectAnswer(await exchange(scene.port, head(headers, { target: '/in/webhooks' }), bytes), 200, 'handled', id)
    expect((await exchange(scene.port, head(headers, { target: '/webhooks' }), bytes)).status).toBe(404)
  })
})

describe('hooks and logger of the app', () => {
  it('see every delivery, even one whose connection is closed', async () => {
    const seen: string[] = []
    const scene = await start(async (app, plugin) => {
      app.addHook('onRequest', async () => void seen.push('onRequest'))
      app.addHook('preHandler', async () => void seen.push('preHandler'))
      app.addHook('onResponse', async (_request, reply) => void seen.push(`onResponse ${reply.raw.statusCode}`))
      await mountAtWebhooks(app, plugin)
    })
    await deliver(scene, sample())
    const wire = await Wire.open(scene.port)
    await wire.send(head({ ...sample().headers, 'content-length': 2_000_000 }))
    expectAnswer(await wire.answer(), 413, 'body_too_large')
    await wire.closed() // Fastify reports nothing about a sender that disconnects first
    await expect
      .poll(() => seen)
      .toEqual([...['onRequest', 'preHandler', 'onResponse 200'], ...['onRequest', 'preHandler', 'onResponse 413']])
  })

  it('write one line for a request and one for its answer', async () => {
    const lines: string[] = []
    const logger = { level: 'info', stream: { write: (line: string) => void lines.push(line) } }
    const scene = await start(mountAtWebhooks, { logger })
    lines.length = 0
    await deliver(scene, sample())
    await expect
      .poll(() => lines.map((line) => JSON.parse(line).msg))
      .toEqual(['incoming request', 'request completed'])
    expect(lines.join()).not.toMatch(/sha256=|Okafor/)
  })

  it('decide first: a hook that answers is the one that answers', async () => {
    const scene = await start(async (app, plugin) => {
      app.addHook('onRequest', async (_request, reply) => reply.code(403).send({ code: 'by the app' }))
      await mountAtWebhooks(app, plugin)
    })
    expect(await deliver(scene, sample())).toMatchObject({ status: 403, body: '{"code":"by the app"}' })
    expectUntouched(scene)
  })

  it('cause 500 and one line with the fix if one reads the body', async () => {
    const scene = await start(async (app, plugin) => {
      app.addHook('onRequest', async ({ raw }) => void (await text(raw)))
      await mountAtWebhooks(app, plugin)
    })
    for (let n = 0; n < 2; n++) expectAnswer(await deliver(scene, sample()), 500, 'body_consumed')
    expect(scene.log().split('\n')).toHaveLength(1)
    expect(scene.log()).toContain('Register fastifyPlugin in a scope without it')
    expectUntouched(scene)
  })
})

it.each([
  ['called like a handler', (app: FastifyInstance) => app.register(Reflect.apply(fastifyPlugin, null, [{}]))],
  ['registered without its receiver', (app: FastifyInstance) => app.register(fastifyPlugin, {} as never)],
])('tells how to register it if it is %s', async (_what, mount) => {
  await expect(Promise.resolve(mount(fastify()))).rejects.toMatchObject({
    code: 'option_invalid',
    message: expect.stringContaining('app.register(fastifyPlugin, { receiver, url:'),
  })
})

it('types its options', () => {
  const app = fastify()
  const { receiver } = createScene()
  // @ts-expect-error: there is nothing to receive with
  void (() => app.register(fastifyPlugin, { url: '/webhooks' }))
  // @ts-expect-error: the path is a text
  void (() => app.register(fastifyPlugin, { receiver, url: 1 }))
  // @ts-expect-error: a source is a function of the request
  void (() => app.register(fastifyPlugin, { receiver, source: 'acme' }))
  expect(fastifyPlugin).toBeTypeOf('function')
})
