import { once } from 'node:events'
import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import fastify from 'fastify'
import { Hono } from 'hono'
import type { ConfigurationError } from 'postern'
import { expressHandler } from 'postern/express'
import { fastifyPlugin } from 'postern/fastify'
import { nextApiHandler, nextHandler } from 'postern/next'
import { nodeHandler } from 'postern/node'
import { fetchHandler } from 'postern/web'
import { describe, expect, it, onTestFinished } from 'vitest'
import { portOf } from './hosts.ts'
import { createScene } from './scene.ts'

/** Values that plain JavaScript may pass. */
type Make = (receiver: unknown, options?: unknown) => unknown

const adapters: readonly [string, Make][] = Object.entries({
  expressHandler: expressHandler as unknown as Make,
  fetchHandler: fetchHandler as Make,
  nextHandler: nextHandler as Make,
  nextApiHandler: nextApiHandler as Make,
  nodeHandler: nodeHandler as Make,
  fastifyPlugin: async (receiver, options) => {
    const app = fastify()
    await app.register(fastifyPlugin, { ...(options as object), receiver } as never)
    await app.ready()
  },
})

async function failureOf(make: () => unknown): Promise<ConfigurationError> {
  try {
    await make()
  } catch (error) {
    return error as ConfigurationError // the test checks it, whatever it is
  }
  throw new Error('nothing was thrown')
}

describe.each(adapters)('%s checks its arguments when it is called:', (name, make) => {
  const { receiver } = createScene()

  it.each<[string, unknown, unknown, string, string]>([
    ['no receiver, as after a circular import', undefined, {}, 'option_invalid', 'create it in a separate module'],
    ['a handler for a receiver', () => {}, {}, 'option_invalid', 'got a function, which is not a receiver'],
    [
      'a misspelt option',
      receiver,
      { sources: () => 'acme' },
      'option_unknown',
      'has no option "sources". Did you mean "source"? It takes ',
    ],
    ['a source that is text', receiver, { source: 'acme' }, 'option_invalid', 'source is "acme"; give a function'],
    [
      'a waitUntil that is a promise',
      receiver,
      { waitUntil: Promise.resolve() },
      'option_invalid',
      'waitUntil is a promise; give a function',
    ],
  ])('%s', async (_what, given, options, code, fix) => {
    const error = await failureOf(() => make(given, options))
    expect(error.code).toBe(code)
    expect(error.message).toContain(name)
    expect(error.message).toContain(fix)
  })

  it('and accepts valid ones', async () => {
    await make(receiver, { source: () => 'acme', waitUntil: () => {} })
    await make(receiver, {})
  })
})

describe.each([
  ['nodeHandler', 'path', (path: unknown) => nodeHandler(createScene().receiver, { path } as never)],
  [
    'fastifyPlugin',
    'url',
    (url: unknown) => adapters.find(([name]) => name === 'fastifyPlugin')?.[1](createScene().receiver, { url }),
  ],
] as const)('%s checks its %s:', (name, option, make) => {
  it.each([['webhooks'], ['https://app.example/webhooks'], ['/webhooks?tenant=1'], [''], [7], [null]])(
    '%j',
    async (path) => {
      const error = await failureOf(() => make(path))
      expect(error).toMatchObject({ code: 'option_invalid' })
      expect(error.message).toContain(`${name}: ${option} is ${JSON.stringify(path)}; give a path that begins with "/"`)
    },
  )
})

/** Returns the handler of an adapter, in the view of plain JavaScript. */
function handlerOf(name: string): (...args: readonly unknown[]) => unknown {
  const make = adapters.find(([each]) => each === name)?.[1]
  return make?.(createScene().receiver) as ReturnType<typeof handlerOf> // each of these makes one
}

const newRequest = () => new Request('http://localhost/webhooks', { method: 'POST', body: '{}' })

describe('a handler that is called by the wrong host', () => {
  it.each<[string, string, readonly unknown[]]>([
    ['nodeHandler', 'a Request', [newRequest()]],
    ['nodeHandler', 'an event of a function platform', [{ headers: {}, body: '{}' }, {}]],
    ['nextApiHandler', 'a Request', [newRequest(), { params: {} }]],
    ['expressHandler', 'no response', [{ httpVersionMajor: 1, headers: {} }, {}]],
    ['fetchHandler', 'an event around a Request', [{ request: newRequest() }]],
    ['fetchHandler', 'a request of node:http', [{ httpVersionMajor: 1, headers: {} }, {}]],
    ['nextHandler', 'nothing', []],
  ])('%s, called with %s, throws synchronously and names the fix', (name, _what, args) => {
    const message = expect.stringMatching(`^${name} was not called with .*Use the adapter of the framework`)
    expect(() => handlerOf(name)(...args)).toThrow(
      expect.objectContaining({ name: 'ConfigurationError', code: 'option_invalid', message }),
    )
  })

  /** Sends one request, and returns the host's message about the error and the status of the answer. */
  async function post(server: Server): Promise<number> {
    if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${portOf(server)}/webhooks`
    const response = await fetch(url, { method: 'POST', body: '{}', headers: { connection: 'close' } })
    await response.arrayBuffer()
    return response.status
  }

  it('reaches the error handling of Hono, even on its Node server', async () => {
    let seen: unknown
    const app = new Hono()
      .post('/webhooks', ((context: unknown) => handlerOf('fetchHandler')(context)) as never)
      .post('/request', ((context: { req: unknown }) => handlerOf('fetchHandler')(context.req)) as never)
      .onError((error, context) => {
        seen = error
        return context.text('failed', 500)
      })
    expect((await app.fetch(newRequest())).status).toBe(500)
    expect(String(seen)).toContain('fetchHandler was not called with a Request')
    expect((await app.fetch(new Request('http://localhost/request', { method: 'POST' }))).status).toBe(500)
    expect(String(seen)).toContain('fetchHandler(receiver) takes c.req.raw under Hono')
    seen = undefined
    expect(await post(createAdaptorServer({ fetch: app.fetch }) as Server)).toBe(500)
    expect(String(seen)).toContain('takes c.req.raw')
  })

  it('reaches the error handling of Fastify', async () => {
    for (const name of ['expressHandler', 'nodeHandler', 'fetchHandler'] as const) {
      const app = fastify()
      app.post('/webhooks', (request, reply) => handlerOf(name)(request, reply))
      const answer = await app.inject({ method: 'POST', url: '/webhooks', payload: {} })
      expect(answer.statusCode).toBe(500)
      expect(answer.json().message).toMatch(/Use the adapter of the framework that calls it/)
    }
  })
})
