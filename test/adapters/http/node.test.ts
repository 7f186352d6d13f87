import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { type NodeHandlerOptions, nodeHandler } from 'postern/node'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createScene, deliver, expectAnswer, expectHandled, expectUntouched, sample, serve } from './scene.ts'
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
  it.each([
    [undefined, '/'],
    [undefined, '/any/thing?a=b'],
    ['/webhooks', '/webhooks?'],
    ['/webhooks', '/webhooks?a=/b'],
    ['/webhooks', 'http://localhost/webhooks'],
    ['/webhooks', 'https://app.example:8443/webhooks?a=b'],
    ['/webhooks', 'HTTP://localhost/webhooks?'],
  ])('%j is that of the target %s, an absolute URL or with a query', async (path, target) => {
    const scene = await start({ path })
    await expectHandled(scene, { target })
  })

  it.each([
    ...['/', '/webhooks/', '/webhooks/deeper', '/Webhooks', '/web%68ooks', '//webhooks', '/?/webhooks'],
    'http://webhooks',
  ])('answers 404 elsewhere, and keeps the connection: %s', async (target) => {
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
  })

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
})

describe('a request that was read before', () => {
  it('is answered 500, with the fix in the log', async () => {
    const scene = await start({}, async (request) => void (await text(request)))
    expectAnswer(await deliver(scene, sample()), 500, 'body_consumed')
    expect(scene.log()).toContain('Call nodeHandler first')
    expectUntouched(scene)
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
