import { EventEmitter } from 'node:events'
import type { RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import express from 'express'
import type { Receiver } from 'postern'
import { expressHandler } from 'postern/express'
import { nextApiHandler } from 'postern/next'
import { nodeHandler } from 'postern/node'
import { events, signed } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { createScene, SECRET } from './scene.ts'

const require = createRequire(import.meta.url) // untyped
const { createRequest, createResponse } = require('node-mocks-http')
const request = require('supertest')

type Make = (receiver: Receiver) => (...args: readonly unknown[]) => Promise<void>

const adapters = {
  expressHandler: ((receiver) => expressHandler(receiver)) as Make,
  nextApiHandler: nextApiHandler as Make,
  nodeHandler: nodeHandler as Make,
}

const newDelivery = () => signed(events.contact.created(), { secret: SECRET })

describe.each(Object.entries(adapters))('%s, called with stand-ins', (_, make) => {
  it.each([
    ['with events', EventEmitter],
    ['without events', undefined],
  ])('of node-mocks-http %s, handles the bytes in their body', async (__, eventEmitter) => {
    const { receiver } = createScene()
    const { body, headers } = newDelivery()
    const response = createResponse({ eventEmitter })
    const next = () => {}
    await make(receiver)(
      createRequest({ method: 'POST', url: '/webhooks', headers, body, eventEmitter }),
      response,
      next,
    )
    expect([response.statusCode, response._getJSONData().code]).toEqual([200, 'handled'])
    expect(await receiver.close({ timeoutMs: Infinity })).toEqual({ unfinished: 0 })
  })

  it('whose rawBody is text, says that the bytes are needed', async () => {
    const { receiver, log } = createScene()
    const { body, headers } = newDelivery()
    const response = createResponse()
    const rawBody = Buffer.from(body).toString()
    await make(receiver)(createRequest({ method: 'POST', headers, body: JSON.parse(rawBody), rawBody }), response)
    expect(response.statusCode).toBe(500)
    expect(log()).toContain('request.rawBody holds text')
  })

  it.each<[string, (text: string) => unknown]>([
    ['a parsed body', JSON.parse],
    ['text', String],
    ['no body', () => undefined],
  ])('of node-mocks-http with %s, tells the fix', async (__, toBody) => {
    const { receiver, log } = createScene()
    const { body, headers } = newDelivery()
    const response = createResponse()
    await make(receiver)(
      createRequest({ method: 'POST', headers, body: toBody(Buffer.from(body).toString()) }),
      response,
    )
    expect([response.statusCode, response._getJSONData()]).toEqual([500, { code: 'body_consumed' }])
    expect(log()).toContain('set its body or rawBody to the bytes of signed(event, { secret }).body')
  })

  it('of plain objects, handles what they have', async () => {
    const { receiver } = createScene()
    const { body, headers } = newDelivery()
    const ended: unknown[] = []
    const response = { setHeader: () => {}, end: (text: string) => void ended.push(text) }
    await make(receiver)({ method: 'POST', headers, body }, response)
    expect(ended).toEqual([expect.stringContaining('handled')])
    await make(receiver)({ method: 'POST' }, response)
    expect(ended[1]).toBe('{"code":"unauthorized"}')
  })

  it('whose response cannot do what an answer needs, reports it and rejects nothing', async () => {
    const { receiver, errors } = createScene()
    const headers = { ...newDelivery().headers, 'content-length': '10000000' }
    const response = { setHeader: () => {}, end: () => {} } // no write
    await make(receiver)({ method: 'POST', headers }, response)
    expect(errors).toMatchObject([{ code: 'answer_unsent', cause: expect.any(TypeError) }])
    expect(errors[0]?.message).toContain('a stand-in of a test lacks')
  })

  it('whose response is only that of a framework, throws synchronously and names what it lacks', () => {
    const { receiver } = createScene()
    const response = { status: () => response, json: () => response }
    expect(() => make(receiver)({ method: 'POST', headers: {} }, response)).toThrow('has setHeader() and end()')
  })
})

describe('signed()', () => {
  it('is sent as text by supertest', async () => {
    const { receiver } = createScene()
    const app = express().post('/webhooks', expressHandler(receiver)) as RequestListener
    const { body, headers } = newDelivery()
    const { status } = await request(app).post('/webhooks').set(headers).send(Buffer.from(body).toString())
    expect(status).toBe(200)
  })
})
