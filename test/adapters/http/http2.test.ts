import { once } from 'node:events'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  createServer,
  type Http2Server,
  type Settings,
} from 'node:http2'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import fastify from 'fastify'
import type { Receiver } from 'postern'
import { fastifyPlugin } from 'postern/fastify'
import { nodeHandler } from 'postern/node'
import { describe, expect, it, onTestFinished } from 'vitest'
import { portOf } from './hosts.ts'
import { createScene, type Sample, sample, toOutgoing } from './scene.ts'
import type { Headers } from './wire.ts'

/** Makes servers of HTTP/2 with a receiver, called after a delay. */
const SERVERS: Readonly<Record<string, (receiver: Receiver, delayMs: number) => Promise<Http2Server>>> = {
  async 'node:http2'(receiver, delayMs) {
    const handle = nodeHandler(receiver)
    return createServer(async (...given) => {
      if (delayMs > 0) await sleep(delayMs)
      await handle(...given)
    })
  },
  async Fastify(receiver) {
    const app = fastify({ http2: true })
    await app.register(fastifyPlugin, { receiver })
    await app.ready()
    return app.server
  },
}

/** A receiver behind HTTP/2, a session with it, and the server's open streams. */
async function open(
  options: Parameters<typeof createScene>[0] = {},
  { settings = {}, delayMs = 0, name = 'node:http2' }: { settings?: Settings; delayMs?: number; name?: string } = {},
) {
  const scene = createScene(options)
  let openStreams = 0
  const server = (await SERVERS[name]?.(scene.receiver, delayMs)) ?? expect.unreachable()
  server.on('stream', (stream) => {
    openStreams++
    stream.on('close', () => openStreams--)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const session = connect(`http://127.0.0.1:${portOf(server)}`, { settings })
  session.on('error', () => {})
  onTestFinished(() => {
    session.destroy()
    server.close()
  })
  return { ...scene, session, openStreams: () => openStreams }
}

function begin(
  session: ClientHttp2Session,
  { headers }: Pick<Sample, 'headers'>,
  more: Headers = {},
): ClientHttp2Stream {
  const { 'content-length': _, ...undeclared } = headers
  const stream = session.request({ ':method': 'POST', ':path': '/', ...toOutgoing({ ...undeclared, ...more }) })
  stream.on('error', () => {})
  return stream
}

const statusOf = async (stream: ClientHttp2Stream) => (await once(stream, 'response'))[0][':status'] as number

describe('a stream of HTTP/2', () => {
  it.each(Object.keys(SERVERS))('of %s is handled, or refused without a connection header', async (name) => {
    const { session, runs } = await open({}, { name })
    const refused = Buffer.alloc(900_000)
    for (const isDeclared of [true, false]) {
      const good = sample()
      for (const [delivery, bytes, status, code] of [
        [good, good.bytes, 200, 'handled'],
        [sample({ tamper: 'flip-bit' }), refused, 401, 'unauthorized'],
        [sample({ tamper: 'no-header' }), refused, 401, 'unauthorized'],
        [sample(), Buffer.alloc(3_000_000), 413, 'body_too_large'],
      ] as const) {
        const stream = begin(session, delivery, isDeclared ? { 'content-length': bytes.length } : {})
        const answered = once(stream, 'response')
        stream.end(bytes)
        const [answer] = await answered
        expect(answer).toMatchObject({ ':status': status })
        expect(answer).not.toHaveProperty('connection')
        expect(JSON.parse(await text(stream))).toMatchObject({ code })
      }
    }
    expect(runs.size).toBe(2)
  })

  it.each([
    ['refused by its head', sample({ tamper: 'no-header' }), 401],
    ['whose body never ends', sample(), 408],
  ])('%s is answered and closed, no matter how long its sender continues', async (_what, delivery, status) => {
    const { session, openStreams } = await open({ deadlineMs: 500 })
    const streams = Array.from({ length: 50 }, () => begin(session, delivery))
    const statuses = streams.map(statusOf)
    const sending = setInterval(() => {
      for (const stream of streams) if (!stream.destroyed) stream.write('more ')
    }, 50)
    onTestFinished(() => clearInterval(sending))
    expect(new Set(await Promise.all(statuses))).toEqual(new Set([status]))
    await expect.poll(openStreams).toBe(0)
    const good = sample()
    const stream = begin(session, good)
    stream.end(good.bytes)
    expect(await statusOf(stream)).toBe(200)
  })

  it.each([8, 0, 2])('reset with code %i in its body is an incomplete body, not a wrong signature', async (code) => {
    const { session, outcomes, openStreams } = await open()
    const delivery = sample()
    const stream = begin(session, delivery)
    stream.write(delivery.bytes.subarray(0, 20))
    await sleep(50)
    stream.close(code)
    await expect.poll(() => outcomes.length).toBe(1)
    expect(outcomes).toMatchObject([{ outcome: 'rejected', code: 'body_incomplete' }])
    await expect.poll(openStreams).toBe(0)
  })

  // It takes four seconds: all run concurrently.
  it('is closed even if its sender does not read the answer: handled, refused, or refused while it is being sent', async () => {
    const ignore = async (delivery: Sample, isWhole: boolean) => {
      const { session, receiver, openStreams } = await open({}, { settings: { initialWindowSize: 0 } })
      await once(session, 'localSettings')
      const streams = Array.from({ length: 5 }, () => begin(session, delivery))
      for (const stream of streams) isWhole ? stream.end(delivery.bytes) : stream.write('more')
      await Promise.all(streams.map(statusOf))
      await expect.poll(openStreams).toBe(0)
      expect(await receiver.close({ timeoutMs: Infinity })).toEqual({ unfinished: 0 })
    }
    const refused = sample({ tamper: 'no-header' })
    await Promise.all([ignore(sample(), true), ignore(refused, true), ignore(refused, false)])
  })

  it('does not delay close() if it was reset before the receiver was called', async () => {
    const { session, receiver, outcomes } = await open({}, { delayMs: 100 })
    const delivery = sample()
    const stream = begin(session, delivery)
    stream.write(delivery.bytes.subarray(0, 20))
    await sleep(30)
    stream.close(8)
    await expect.poll(() => outcomes.length).toBe(1)
    expect(outcomes[0]).toMatchObject({ code: 'body_incomplete' })
    expect(await receiver.close({ timeoutMs: Infinity })).toEqual({ unfinished: 0 })
  })

  it('does not delay close() once it is answered', async () => {
    const { session, receiver } = await open()
    const delivery = sample()
    const stream = begin(session, delivery)
    stream.end(delivery.bytes)
    stream.resume()
    expect(await statusOf(stream)).toBe(200)
    expect(await receiver.close({ timeoutMs: Infinity })).toEqual({ unfinished: 0 })
  })
})
