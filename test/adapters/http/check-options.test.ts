import fastify from 'fastify'
import { Hono } from 'hono'
import type { ConfigurationError } from 'postern'
import { expressHandler } from 'postern/express'
import { fastifyPlugin } from 'postern/fastify'
import { nextApiHandler, nextHandler } from 'postern/next'
import { nodeHandler } from 'postern/node'
import { fetchHandler } from 'postern/web'
import { describe, expect, it } from 'vitest'
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

// test/wrong-calls.test.ts shows the same of every other wrong argument.
it.each(adapters)('%s names the fix if it has no receiver, as after a circular import', async (name, make) => {
  const error = await failureOf(() => make(undefined))
  expect(error).toMatchObject({ code: 'option_invalid', message: expect.stringContaining(`${name} got undefined`) })
  expect(error.message).toContain('create it in a separate module')
})

describe.each([
  ['nodeHandler', 'path', (path: unknown) => nodeHandler(createScene().receiver, { path } as never)],
  [
    'fastifyPlugin',
    'url',
    (url: unknown) => adapters.find(([name]) => name === 'fastifyPlugin')?.[1](createScene().receiver, { url }),
  ],
] as const)('%s checks its %s:', (name, option, make) => {
  it.each([['webhooks'], ['https://app.example/webhooks'], ['/webhooks?tenant=1'], [''], [null]])(
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
    ['nextApiHandler', 'a Request', [newRequest(), { params: {} }]],
    ['expressHandler', 'no response', [{ httpVersionMajor: 1, headers: {} }, {}]],
    ['fetchHandler', 'a request of node:http', [{ httpVersionMajor: 1, headers: {} }, {}]],
    ['nextHandler', 'nothing', []],
  ])('%s, called with %s, throws synchronously and names the fix', (name, _what, args) => {
    const message = expect.stringMatching(`^${name} was not called with .*Use the adapter of the framework`)
    expect(() => handlerOf(name)(...args)).toThrow(
      expect.objectContaining({ name: 'ConfigurationError', code: 'option_invalid', message }),
    )
  })

  it('reaches the error handling of Hono', async () => {
    const seen: string[] = []
    const app = new Hono()
      .post('/webhooks', ((context: unknown) => handlerOf('fetchHandler')(context)) as never)
      .post('/request', ((context: { req: unknown }) => handlerOf('fetchHandler')(context.req)) as never)
      .onError((error, context) => {
        seen.push(String(error))
        return context.text('failed', 500)
      })
    for (const path of ['/webhooks', '/request']) expect((await app.request(path, { method: 'POST' })).status).toBe(500)
    expect(seen).toEqual(Array(2).fill(expect.stringContaining('fetchHandler(receiver) takes c.req.raw under Hono')))
  })
})
