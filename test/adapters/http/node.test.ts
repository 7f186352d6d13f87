import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { createReceiver } from 'postern'
import { type NodeHandlerOptions, nodeHandler } from 'postern/node'
import { silentLogger } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Gate } from '../../support/gate.ts'
import { createScene, deliver, expectAnswer, expectHandled, expectUntouched, SECRET, sample, serve } from './scene.ts'
import { exchange, head, Wire } from './wire.ts'

async function start(
  options: NodeHandlerOptions = {},
  before: (request: IncomingMessage) => Promise<void> = async () => {},
) {
  const scene = createScene()
  const handler = nodeHandler(scene.receiver, options)
  const port = await serve((request, response) => void before(request).then(() => handler(request, response)))
  return { ...scene, port }
}

describe('path', () => {
  it.each(['/', '/webhooks', '/any/thing?a=b'])('is every path if none is set: %s', async (target) => {
    const scene = await start()
    await expectHandled(scene, { target })
  })

  it.each(['/webhooks', '/webhooks?', '/webhooks?a=/b'])('is compared without the query: %s', async (target) => {
    const scene = await start({ path: '/webhooks' })
    await expectHandled(scene, { target })
  })

  it.each(['http://localhost/webhooks', 'https://app.example:8443/webhooks?a=b', 'HTTP://localhost/webhooks?'])(
    'is found in a target that is an absolute URL: %s',
    async (target) => {
      const scene = await start({ path: '/webhooks' })
      const { bytes, headers, id } = sample()
      expectAnswer(await exchange(scene.port, head(headers, { target }), bytes), 200, 'handled', id)
      expectAnswer(await exchange(scene.port, head(headers, { target: 'http://webhooks' }), bytes), 404, 'not_found')
    },
  )

  it.each(['/', '/webhooks/', '/webhooks/deeper', '/Webhooks', '/web%68ooks', '//webhooks', '/?/webhooks'])(
    'answers 404 elsewhere, and keeps the connection: %s',
    async (target) => {
      const scene = await start({ path: '/webhooks' })
      const { bytes, headers, id } = sample()
      const wire = await Wire.open(scene.port)
      await wire.send(head(headers, { target }), bytes)
      expectAnswer(await wire.answer(), 404, 'not_found')
      expectUntouched(scene)
      expect(scene.outcomes).toEqual([])
      await wire.send(head(headers), bytes)
      expectAnswer(await wire.answer(), 200, 'handled', id)
      wire.abort()
    },
  )

  it.each([
    [404, '/', 100],
    [408, '/webhooks', 100],
    [413, '/webhooks', 100_000_000],
  ])('lets a request that was answered %i emit an error, as on Bun', async (status, target, length) => {
    const { receiver } = createScene({ deadlineMs: 100, leaseMs: 2_000 })
    const handler = nodeHandler(receiver, { path: '/webhooks' })
    const requests: IncomingMessage[] = []
    const port = await serve((request, response) => {
      requests.push(request)
      void handler(request, response)
    })
    const { headers } = sample()
    expect(await exchange(port, head({ ...headers, 'content-length': length }, { target }), '{')).toMatchObject({
      status,
    })
    await expect.poll(() => requests[0]?.socket.destroyed).toBe(true)
    expect(() => requests[0]?.emit('error', new Error('aborted'))).not.toThrow()
  })

  it('answers 404 to a body that does not end, and does not wait for it', async () => {
    const scene = await start({ path: '/webhooks' })
    const wire = await Wire.open(scene.port)
    await wire.send(head({ 'content-length': 1_000_000 }, { target: '/' }))
    expectAnswer(await wire.answer(), 404, 'not_found')
    await wire.closed()
  })
})

describe('a request that was read before', () => {
  it('is answered 500, with the fix in the log', async () => {
    const scene = await start({}, async (request) => void (await text(request)))
    expectAnswer(await deliver(scene, sample()), 500, 'body_consumed')
    expect(scene.log()).toContain('Call nodeHandler first')
    expectUntouched(scene)
  })

  it('is handled if its bytes were kept in rawBody', async () => {
    const scene = await start({}, async (request) => {
      const parts: Buffer[] = []
      for await (const part of request) parts.push(part)
      Object.assign(request, { rawBody: Buffer.concat(parts) })
    })
    await expectHandled(scene)
    expectAnswer(await deliver(scene, sample({ tamper: 'flip-bit' })), 401, 'unauthorized')
  })

  it('is not read from rawBody or body if the stream was not read', async () => {
    const scene = await start({}, async (request) => {
      Object.assign(request, { rawBody: Buffer.from('other bytes'), body: Buffer.from('other bytes') })
    })
    await expectHandled(scene)
  })
})

it.each<[string, (request: IncomingMessage) => unknown]>([
  ['rejects', () => Promise.reject(new Error('no such tenant'))],
  ['is asynchronous', async () => 'acme'],
  ['returns a number', () => 7],
])('a source that %s is answered 503, and leaves no rejection behind', async (_what, source) => {
  const rejections: unknown[] = []
  const keep = (reason: unknown) => rejections.push(reason)
  process.on('unhandledRejection', keep)
  onTestFinished(() => void process.off('unhandledRejection', keep))
  const scene = await start({ source: source as NodeHandlerOptions['source'] & object }) // as plain JavaScript may
  expectAnswer(await deliver(scene, sample()), 503, 'secrets_unavailable')
  expect(scene.errors).toMatchObject([{ code: 'secrets_unavailable' }])
  expect(scene.errors[0]?.message).toContain("The adapter's source option failed: it is")
  expect(rejections).toEqual([])
  expectUntouched(scene)
})

it('accepts source and waitUntil as options', async () => {
  const handed: Promise<unknown>[] = []
  const receiver = createReceiver({
    secret: ({ source }) => (source === '/acme' ? { secret: SECRET, accountKey: 'acme' } : undefined),
    deadlineMs: 100,
    logger: silentLogger,
  })
  const gate = new Gate()
  receiver.on('*', () => gate.promise)
  const handler = nodeHandler(receiver, { source: ({ url }) => url, waitUntil: (work) => handed.push(work) })
  const port = await serve(handler)
  const { bytes, headers, id } = sample()
  expectAnswer(await exchange(port, head(headers, { target: '/other' }), bytes), 401, 'unauthorized')
  expect(handed).toHaveLength(0)
  expectAnswer(await exchange(port, head(headers, { target: '/acme' }), bytes), 503, 'late', id)
  expect(handed).toHaveLength(1)
  gate.open()
  await handed[0]
})
