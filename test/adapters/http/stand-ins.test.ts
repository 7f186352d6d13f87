import { EventEmitter } from 'node:events'
import { IncomingMessage, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import { Socket } from 'node:net'
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
  /** Calls the adapter with stand-ins of node-mocks-http for the delivery, whose body is changed. */
  async function call(own: (body: Buffer) => object, eventEmitter?: typeof EventEmitter) {
    const scene = createScene()
    const { body, headers } = newDelivery()
    const response = createResponse({ eventEmitter })
    const request = createRequest({
      method: 'POST',
      url: '/webhooks',
      headers,
      eventEmitter,
      ...own(Buffer.from(body)),
    })
    await make(scene.receiver)(request, response, () => {})
    return { ...scene, answer: [response.statusCode, response._getJSONData().code] }
  }

  it.each([
    ['with events', EventEmitter],
    ['without events', undefined],
  ])('of node-mocks-http %s, handles the bytes in their body', async (__, eventEmitter) => {
    const { receiver, answer } = await call((body) => ({ body }), eventEmitter)
    expect(answer).toEqual([200, 'handled'])
    expect(await receiver.close({ timeoutMs: Infinity })).toEqual({ unfinished: 0 })
  })

  it.each<[string, (body: Buffer) => unknown, number, string]>([
    ['bytes', (body) => body, 200, 'handled'],
    ['text', String, 500, 'body_consumed'],
    ['nothing', () => undefined, 500, 'body_consumed'],
  ])('that ended unread as on serverless hosts, and keep %s, verifies no empty body', async (__, keep, ...expected) => {
    const { receiver } = createScene()
    const { body, headers } = newDelivery()
    const request = new IncomingMessage(new Socket())
    Object.defineProperty(request, 'readableEnded', { value: true })
    Object.assign(request, { method: 'POST', url: '/', body: keep(Buffer.from(body)) })
    Object.assign(request.headers, headers, { 'content-length': String(body.length) })
    const response = createResponse()
    await make(receiver)(request, response, () => {})
    expect([response.statusCode, response._getJSONData().code]).toEqual(expected)
  })

  const fix = 'set its body or rawBody to the bytes of signed(event, { secret }).body'
  it.each<[string, (body: string) => object, string]>([
    ['a parsed body', (body) => ({ body: JSON.parse(body) }), fix],
    ['text', (body) => ({ body }), fix],
    ['no body', () => ({}), fix],
    ['text as rawBody', (body) => ({ body: {}, rawBody: body }), 'request.rawBody holds text'],
  ])('of node-mocks-http with %s, tells the fix', async (__, own, told) => {
    const { answer, log } = await call((body) => own(body.toString()))
    expect(answer).toEqual([500, 'body_consumed'])
    expect(log()).toContain(told)
  })

  it('of plain objects, handles what they have', async () => {
    const { receiver } = createScene()
    const { body, headers } = newDelivery()
    const ended: unknown[] = []
    const response = { setHeader: () => {}, end: (text: string) => void ended.push(text) }
    await make(receiver)({ method: 'POST', headers, body }, response)
    await make(receiver)({ method: 'POST' }, response)
    expect(ended).toEqual([expect.stringContaining('handled'), '{"code":"unauthorized"}'])
  })

  it('whose response cannot do what an answer needs, reports it and rejects nothing', async () => {
    const { receiver, errors } = createScene()
    const headers = { ...newDelivery().headers, 'content-length': '10000000' }
    const response = { setHeader: () => {}, end: () => {} } // no write
    await make(receiver)({ method: 'POST', headers }, response)
    expect(errors).toMatchObject([{ code: 'answer_unsent', cause: expect.any(TypeError) }])
    expect(errors[0]?.message).toContain('a stand-in of a test lacks')
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
