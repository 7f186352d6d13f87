import { once } from 'node:events'
import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import fastify from 'fastify'
import { Hono } from 'hono'
import { expressHandler } from 'postern/express'
import { nextApiHandler, nextHandler } from 'postern/next'
import { nodeHandler } from 'postern/node'
import { fetchHandler } from 'postern/web'
import { describe, expect, it, onTestFinished } from 'vitest'
import { portOf } from './hosts.ts'
import { createScene } from './scene.ts'

/** A handler in the view of plain JavaScript. */
type Handler = (...args: readonly unknown[]) => unknown

const { receiver } = createScene()
const handlers = {
  expressHandler: expressHandler(receiver) as Handler,
  fetchHandler: fetchHandler(receiver) as Handler,
  nextHandler: nextHandler(receiver) as Handler,
  nextApiHandler: nextApiHandler(receiver) as Handler,
  nodeHandler: nodeHandler(receiver) as Handler,
}

const newRequest = () => new Request('http://localhost/webhooks', { method: 'POST', body: '{}' })

/** Returns the error that a handler throws before it returns. */
function errorOf(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

describe('a handler that is called by the wrong host', () => {
  it.each<[keyof typeof handlers, string, readonly unknown[], string]>([
    [
      'nodeHandler',
      'a Request',
      [newRequest()],
      'was given a Request, not a request and response of node:http: use fetch',
    ],
    ['nextApiHandler', 'a Request', [newRequest(), { params: {} }], 'use fetchHandler, or nextHandler under Next.js'],
    [
      'expressHandler',
      'a Request',
      [newRequest(), {}],
      'was given a Request, not request, response and next of Express: use fetch',
    ],
    [
      'expressHandler',
      'no next',
      [{ httpVersionMajor: 1, headers: {} }, {}],
      'was given a request of node:http, not request, response and next of Express: use nodeHandler, or',
    ],
    [
      'fetchHandler',
      'an event around a Request',
      [{ request: newRequest() }],
      'an object with a Request in it, not a Request: pass its request',
    ],
    [
      'fetchHandler',
      'a request of node:http',
      [{ httpVersionMajor: 1, headers: {} }, {}],
      'was given a request of node:http, not a Request: use nodeHandler, or expressHandler under Express',
    ],
    ['nextHandler', 'nothing', [], 'was given undefined, not a Request: use the adapter of your framework'],
    [
      'nodeHandler',
      'an event of a function platform',
      [{ headers: {}, body: '{}' }, {}],
      'was given a value of type object, not ',
    ],
  ])('%s, called with %s, throws synchronously and names the fix', (name, _what, args, text) => {
    const error = errorOf(() => handlers[name](...args))
    expect(error).toMatchObject({ name: 'ConfigurationError', code: 'option_invalid' })
    expect(String(error)).toContain(`${name} was given`)
    expect(String(error)).toContain(text)
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
      .post('/webhooks', ((context: unknown) => handlers.fetchHandler(context)) as never)
      .post('/request', ((context: { req: unknown }) => handlers.fetchHandler(context.req)) as never)
      .onError((error, context) => {
        seen = error
        return context.text('failed', 500)
      })
    expect((await app.fetch(newRequest())).status).toBe(500)
    expect(String(seen)).toContain('fetchHandler was given a Hono context, not a Request: pass c.req.raw')
    expect((await app.fetch(new Request('http://localhost/request', { method: 'POST' }))).status).toBe(500)
    expect(String(seen)).toContain("fetchHandler was given Hono's own request, not a Request: pass c.req.raw")
    seen = undefined
    expect(await post(createAdaptorServer({ fetch: app.fetch }) as Server)).toBe(500)
    expect(String(seen)).toContain('pass c.req.raw')
  })

  it('reaches the error handling of Fastify', async () => {
    for (const name of ['expressHandler', 'nodeHandler', 'fetchHandler'] as const) {
      const app = fastify()
      app.post('/webhooks', (request, reply) => handlers[name](request, reply))
      const answer = await app.inject({ method: 'POST', url: '/webhooks', payload: {} })
      expect(answer.statusCode).toBe(500)
      expect(answer.json().message).toMatch(/was given a request of Fastify, .*: register fastifyPlugin/)
    }
  })
})
