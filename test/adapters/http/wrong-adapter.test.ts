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

describe('a handler that is called by the wrong host', () => {
  it.each<[keyof typeof handlers, string, readonly unknown[]]>([
    ['nodeHandler', 'a Request', [newRequest()]],
    ['nodeHandler', 'an event of a function platform', [{ headers: {}, body: '{}' }, {}]],
    ['nextApiHandler', 'a Request', [newRequest(), { params: {} }]],
    ['expressHandler', 'no next', [{ httpVersionMajor: 1, headers: {} }, {}]],
    ['fetchHandler', 'an event around a Request', [{ request: newRequest() }]],
    ['fetchHandler', 'a request of node:http', [{ httpVersionMajor: 1, headers: {} }, {}]],
    ['nextHandler', 'nothing', []],
  ])('%s, called with %s, throws synchronously and names the fix', (name, _what, args) => {
    const message = expect.stringMatching(`^${name} was not called with .*Use the adapter of the framework`)
    expect(() => handlers[name](...args)).toThrow(
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
      .post('/webhooks', ((context: unknown) => handlers.fetchHandler(context)) as never)
      .post('/request', ((context: { req: unknown }) => handlers.fetchHandler(context.req)) as never)
      .onError((error, context) => {
        seen = error
        return context.text('failed', 500)
      })
    expect((await app.fetch(newRequest())).status).toBe(500)
    expect(String(seen)).toContain('fetchHandler was not called with a Request')
    expect((await app.fetch(new Request('http://localhost/request', { method: 'POST' }))).status).toBe(500)
    expect(String(seen)).toContain('under Hono, pass c.req.raw to fetchHandler(receiver)')
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
      expect(answer.json().message).toMatch(/Use the adapter of the framework that calls it/)
    }
  })
})
