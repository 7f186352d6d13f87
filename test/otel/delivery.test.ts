import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { context, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import { AlwaysOffSampler, type ReadableSpan } from '@opentelemetry/sdk-trace-base'
import express from 'express'
import { createReceiver, type Receiver, type ReceiverOptions } from 'postern'
import { expressHandler } from 'postern/express'
import { nodeHandler } from 'postern/node'
import { instrument } from 'postern/otel'
import { events, type SignedOptions, signed, silentLogger } from 'postern/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Gate } from '../support/gate.ts'
import { enableContexts, Sdk } from './scene.ts'

const SECRET = 'whsec_otel'

beforeAll(enableContexts)
afterAll(() => context.disable())

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`
}

/** A receiver under instrumentation, and a function that sends to it over HTTP. */
function makeScene(options: Partial<ReceiverOptions<never, never>> = {}, sdk = new Sdk()) {
  const receiver = createReceiver({ secret: SECRET, logger: silentLogger, ...options } as ReceiverOptions<never, never>)
  const instrumentation = instrument(receiver, sdk.providers)
  const send = async (url: string, event = events.contact.created(), tamper?: SignedOptions['tamper']) => {
    const response = await fetch(signed(event, { secret: SECRET, ...(tamper && { tamper }) }).request(url))
    await response.text()
    return response.status
  }
  return { sdk, receiver: receiver as unknown as Receiver, instrumentation, send }
}

const HOSTS: readonly (readonly [name: string, toListener: (receiver: Receiver) => RequestListener])[] = [
  ['node:http', (receiver) => nodeHandler(receiver)],
  ['Express', (receiver) => express().post('/webhooks', expressHandler(receiver))],
]

const parentOf = (span: ReadableSpan) => span.parentSpanContext?.spanId

describe.each(HOSTS)('a delivery by %s', (_host, toListener) => {
  it('is a server span with one span for each handler below it', async () => {
    const { sdk, receiver, send } = makeScene({ name: 'shop' })
    receiver.on('contact.created', async () => sleep(1)).on('*', { name: 'audit' }, () => {})
    const event = events.contact.created()
    expect(await send(await listen(toListener(receiver)), event)).toBe(200)
    const server = sdk.span('process shop')
    expect([server.kind, parentOf(server), server.status.code]).toEqual([
      SpanKind.SERVER,
      undefined,
      SpanStatusCode.UNSET,
    ])
    expect(server.attributes).toEqual({
      'messaging.system.name': 'postern',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': 'shop',
      'messaging.message.id': event.id,
      'postern.event.type': 'contact.created',
      'postern.account.key': event.accountKey,
      'postern.outcome': 'handled',
      'http.response.status_code': 200,
    })
    expect(server.instrumentationScope).toMatchObject({
      name: 'postern',
      schemaUrl: 'https://opentelemetry.io/schemas/1.45.0',
    })
    for (const name of ['contact.created', 'audit']) {
      const span = sdk.span(`handle ${name}`)
      expect([span.kind, parentOf(span)]).toEqual([SpanKind.INTERNAL, server.spanContext().spanId])
      expect(span.attributes).toMatchObject({ 'postern.handler.name': name, 'messaging.message.id': event.id })
    }
    expect(sdk.spans).toHaveLength(3)
  })

  it('is a consumer span below the span of an instrumented server', async () => {
    const { sdk, receiver, send } = makeScene()
    receiver.on('*', () => {})
    const listener = toListener(receiver)
    const url = await listen((request, response) => {
      void sdk.below('POST /webhooks', async () => listener(request, response), { kind: SpanKind.SERVER })
    })
    expect(await send(url)).toBe(200)
    const [server, span] = [sdk.span('POST /webhooks'), sdk.span('process default')]
    expect([span.kind, parentOf(span)]).toEqual([SpanKind.CONSUMER, server.spanContext().spanId])
  })

  it("has the spans of its handlers' calls below those of the handlers, even if they run concurrently", async () => {
    const { sdk, receiver, send } = makeScene()
    const work = async (name: string, id: string) => {
      await sleep(Math.random() * 20)
      await sdk.below(`${name} of ${id}`, () => sleep(Math.random() * 20))
    }
    receiver
      .on('contact.created', ({ id }) => work('first', id))
      .on('*', { name: 'all' }, ({ id }) => work('second', id))
    const url = await listen(toListener(receiver))
    const sent = Array.from({ length: 30 }, () => events.contact.created())
    await Promise.all(sent.map((event) => send(url, event)))
    for (const { id } of sent)
      for (const [inner, outer] of [
        ['first', 'handle contact.created'],
        ['second', 'handle all'],
      ]) {
        const below = sdk.span(`${inner} of ${id}`)
        const above = sdk.spans.find((span) => span.spanContext().spanId === parentOf(below))
        expect(above).toMatchObject({ name: outer, attributes: { 'messaging.message.id': id } })
      }
  })
})

describe('the span of a delivery', () => {
  const run = async (receiver: Receiver) => listen(nodeHandler(receiver))

  it('has the code of a refusal, which is no failure of the server', async () => {
    const { sdk, receiver, send } = makeScene()
    receiver.on('*', () => {})
    expect(await send(await run(receiver), undefined, 'flip-bit')).toBe(401)
    const { attributes, status } = sdk.span('process default')
    expect(attributes).toMatchObject({ 'postern.outcome': 'rejected', 'postern.code': 'signature_mismatch' })
    expect([attributes['error.type'], attributes['messaging.message.id'], status.code]).toEqual([
      undefined,
      undefined,
      SpanStatusCode.UNSET,
    ])
  })

  it('has failed if a handler has, with its class and without its text', async () => {
    const { sdk, receiver, send } = makeScene()
    class QuotaError extends Error {}
    receiver.on('contact.created', async () => {
      throw Object.assign(new QuotaError('jane@example.test is over her quota'), { name: 'Jane' })
    })
    receiver.on('*', { name: 'odd' }, () => {
      throw 'jane@example.test'
    })
    expect(await send(await run(receiver))).toBe(500)
    const type = (name: string) => [sdk.span(name).attributes['error.type'], sdk.span(name).status]
    const failed = { code: SpanStatusCode.ERROR }
    expect(type('process default')).toEqual(['handler_failed', failed])
    expect(type('handle contact.created')).toEqual(['QuotaError', failed])
    expect(type('handle odd')).toEqual(['_OTHER', failed])
    const told = sdk.spans.map(({ name, attributes, events: noted, status, links }) => ({
      name,
      attributes,
      noted,
      status,
      links,
    }))
    expect(JSON.stringify(told)).not.toMatch(/jane|quota\b/i)
  })

  it('ends with the answer if handlers run on, whose spans end when they do', async () => {
    const { sdk, receiver, send } = makeScene({ deadlineMs: 100 })
    const gate = new Gate()
    receiver.on('*', () => gate.promise)
    expect(await send(await run(receiver))).toBe(503)
    expect(sdk.spans.map(({ name }) => name)).toEqual(['process default'])
    expect(sdk.span('process default').attributes).toMatchObject({ 'postern.outcome': 'late', 'error.type': 'late' })
    gate.open()
    const ends = [[{ 'postern.outcome': 'handled', 'postern.event.type': 'contact.created' }, 1]]
    await expect.poll(() => sdk.points('postern.late_ends')).toEqual(ends)
    expect(sdk.span('handle *').status.code).toBe(SpanStatusCode.UNSET)
  })

  it('leaves no span open of a handler that was given up', async () => {
    const { sdk, receiver, send } = makeScene({ deadlineMs: 200, handlerTimeoutMs: 1_000 })
    receiver.on('*', () => new Promise(() => {}))
    expect(await send(await run(receiver))).toBe(503)
    for (let tries = 0; tries < 80 && sdk.spans.length < 2; tries++) await sleep(100)
    expect(sdk.span('handle *').attributes['error.type']).toBe('handler_abandoned')
    const [[attributes] = []] = await sdk.histograms('messaging.process.duration')
    expect(attributes).toMatchObject({ 'postern.handler.name': '*', 'error.type': 'handler_abandoned' })
  })

  it('records that a duplicate joined another delivery', async () => {
    const { sdk, receiver, send } = makeScene()
    receiver.on('*', () => sleep(500))
    const url = await run(receiver)
    const event = events.contact.created()
    await Promise.all([send(url, event), send(url, event)])
    const joined = sdk.spans.filter(({ attributes }) => attributes['postern.joined'] === true)
    expect([joined.length, sdk.spans.length]).toEqual([1, 3])
  })

  it('is the consumer of an event that the app dispatches, within the trace of the app', async () => {
    const { sdk, receiver } = makeScene()
    receiver.on('*', () => {})
    await sdk.below('job', () => receiver.dispatch(events.contact.created()))
    const span = sdk.span('process default')
    expect([span.kind, parentOf(span)]).toEqual([SpanKind.CONSUMER, sdk.span('job').spanContext().spanId])
    expect(await sdk.points('postern.dispatches')).toEqual([
      [{ 'postern.outcome': 'handled', 'postern.event.type': 'contact.created' }, 1],
    ])
  })

  it('continues a trace that a caller sent, if the framework did', async () => {
    const { sdk, receiver } = makeScene()
    receiver.on('*', () => {})
    const remote = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
    const extracted = trace.setSpanContext(context.active(), { ...remote, traceFlags: 1, isRemote: true })
    await context.with(extracted, () => receiver.receive(signed(events.contact.created(), { secret: SECRET })))
    const span = sdk.span('process default')
    expect([span.kind, parentOf(span), span.spanContext().traceId]).toEqual([
      SpanKind.SERVER,
      remote.spanId,
      remote.traceId,
    ])
  })

  it('is not recorded, and never marked as sampled, if the sampler says no', async () => {
    const sdk = new Sdk(new AlwaysOffSampler())
    const { receiver, send } = makeScene({}, sdk)
    const flags: (number | undefined)[] = []
    receiver.on('*', async () => void flags.push(trace.getActiveSpan()?.spanContext().traceFlags))
    expect(await send(await run(receiver))).toBe(200)
    expect([sdk.spans.length, flags]).toEqual([0, [TraceFlags.NONE]])
    expect(await sdk.points('postern.deliveries')).toHaveLength(1)
  })
})
