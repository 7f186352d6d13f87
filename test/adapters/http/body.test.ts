import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'
import { nodeHandler } from 'postern/node'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { writeReply } from '../../../adapters/http/answer.ts'
import { NodeRequest } from '../../../adapters/http/body.ts'
import type { BodyIntake } from '../../../src/engine.ts'
import { listen } from './hosts.ts'
import { createScene, serve } from './scene.ts'
import { chunked, type Headers, head, Wire } from './wire.ts'

/** Longer than any test waits, so that nothing in a test is caused by it. No other timer has this length. */
const NEVER_MS = 1_234_567
const REPLY = { status: 401, headers: { 'content-type': 'application/json' }, body: '{"code":"unauthorized"}' }

/** A server that runs a function for each request, and a connection to it. Timers are real, and observed. */
async function open(answer: (request: IncomingMessage, response: ServerResponse) => unknown) {
  const [set, cleared] = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'clearTimeout')]
  const failures: unknown[] = []
  const server = createServer(async (request, response) => {
    try {
      await answer(request, response)
    } catch (error) {
      failures.push(error)
      response.destroy()
    }
  })
  const { port, close } = await listen(server)
  onTestFinished(async () => {
    vi.restoreAllMocks()
    await close()
    expect(failures).toEqual([])
  })
  const timersOf = (ms: number) => set.mock.results.filter((_, at) => set.mock.calls[at]?.[1] === ms)
  return {
    wire: await Wire.open(port),
    timers: (ms: number) => timersOf(ms).length,
    /** The number of those that nothing has cleared. */
    left: (ms: number) =>
      timersOf(ms).filter(({ value }) => !cleared.mock.calls.some(([timer]) => timer === value)).length,
  }
}

const { receiver } = createScene()
const close = (drainMs: number) => ({ ...REPLY, close: true, drainMs })
const keep = (drainMs: number) => ({ ...REPLY, close: false, drainMs })
const TEN = head({ 'content-length': 10 })

describe('an answer that closes the connection', () => {
  it('closes it immediately if the whole request was read before', async () => {
    const { wire, left } = await open(async (request, response) => {
      await text(request)
      writeReply(request, response, close(NEVER_MS), receiver)
    })
    await wire.send(`${TEN}0123456789`)
    expect(await wire.answer()).toMatchObject({ status: 401, body: REPLY.body, headers: { connection: 'close' } })
    await wire.closed()
    expect(left(NEVER_MS)).toBe(0)
  })

  it('closes it as soon as the sender has sent everything', async () => {
    const { wire, timers, left } = await open((request, response) =>
      writeReply(request, response, close(NEVER_MS), receiver),
    )
    await wire.send(TEN)
    expect(await wire.answer()).toMatchObject({ status: 401, headers: { connection: 'close' } })
    expect([wire.isOpen, timers(NEVER_MS), left(NEVER_MS)]).toEqual([true, 1, 1])
    await wire.send('0123456789')
    await wire.closed()
    expect(left(NEVER_MS)).toBe(0)
  })

  it('leaves no timer behind if the sender disconnects', async () => {
    const { wire, left } = await open((request, response) => writeReply(request, response, close(NEVER_MS), receiver))
    await wire.send(TEN)
    await wire.answer()
    expect(left(NEVER_MS)).toBe(1)
    wire.abort()
    await expect.poll(() => left(NEVER_MS)).toBe(0)
  })
})

describe('an answer that keeps the connection', () => {
  it('keeps a sender that finishes, and leaves no timer behind', async () => {
    const { wire, timers, left } = await open((request, response) =>
      writeReply(request, response, keep(NEVER_MS), receiver),
    )
    await wire.send(TEN)
    expect((await wire.answer()).status).toBe(401)
    expect([timers(NEVER_MS), left(NEVER_MS)]).toEqual([1, 1])
    await wire.send('0123456789')
    await expect.poll(() => left(NEVER_MS)).toBe(0)
    await wire.send(`${TEN}0123456789`)
    expect((await wire.answer()).status).toBe(401)
    wire.abort()
  })

  it('sets no timer if the whole request was read before', async () => {
    const { wire, timers } = await open(async (request, response) => {
      await text(request)
      writeReply(request, response, keep(NEVER_MS), receiver)
    })
    await wire.send(`${TEN}0123456789`)
    await wire.answer()
    expect(timers(NEVER_MS)).toBe(0)
    wire.abort()
  })

  it('sets no timer if the whole request has arrived and nothing has read it', async () => {
    const { wire, timers } = await open(async (request, response) => {
      while (!request.complete) await sleep(1)
      expect(request.readableEnded).toBe(false)
      writeReply(request, response, keep(NEVER_MS), receiver)
    })
    await wire.send(`${TEN}0123456789`)
    expect((await wire.answer()).status).toBe(401)
    expect(timers(NEVER_MS)).toBe(0)
    wire.abort()
  })
})

describe('no answer is written', () => {
  it.each([true, false])('to a closed connection (close: %s)', async (isClosing) => {
    let isSent: boolean | undefined
    const { wire, timers } = await open((request, response) => {
      response.destroy()
      writeReply(request, response, { ...REPLY, close: isClosing, drainMs: NEVER_MS }, receiver)
      isSent = response.headersSent
    })
    await wire.send(TEN)
    await wire.closed()
    expect([isSent, timers(NEVER_MS)]).toEqual([false, 0])
  })
})

describe('a body that is read', () => {
  /** A request whose head has reached a server, its intake, and its wire. */
  async function receive(headers: Headers, takes: readonly boolean[] = []) {
    const server = createServer()
    const { port, close } = await listen(server)
    onTestFinished(close)
    const wire = await Wire.open(port)
    const [[request, response]] = await Promise.all([once(server, 'request'), wire.send(head(headers))])
    const taken: number[] = []
    const intake: BodyIntake = {
      take: (bytes) => takes[taken.push(bytes) - 1] ?? true,
      reserve: () => true,
    }
    const read = (limit: number) => new NodeRequest(request, response, {}, 'the fix').read(limit, intake)
    return { wire, request: request as IncomingMessage, intake, taken, read }
  }
  const CHUNKED = { 'transfer-encoding': 'chunked' }

  it('lacks the fragments that its intake did not take', async () => {
    const { wire, taken, read } = await receive(CHUNKED, [true, false, true])
    const reading = read(10)
    await wire.send(chunked(Buffer.from('abc'), 1))
    expect([await reading, taken]).toEqual([Buffer.from('ac'), [1, 1, 1]])
  })

  it('is freed when it is cut, and the rest is not counted', async () => {
    const { wire, request, intake, taken, read } = await receive(CHUNKED)
    const before = request.eventNames().map((name) => request.listenerCount(name))
    const reading = read(10)
    await wire.send(chunked(Buffer.from('a'), 1).subarray(0, -5))
    await expect.poll(() => taken).toEqual([1])
    intake.onCut?.()
    // The listener of errors stays for as long as the request lives.
    const others = request.eventNames().filter((name) => name !== 'data' && name !== 'error')
    expect(others.map((name) => request.listenerCount(name))).toEqual(before)
    await wire.send(chunked(Buffer.from('b'), 1))
    await once(request, 'end')
    expect(taken).toEqual([1])
    expect(await Promise.race([reading, sleep(20, 'nothing')])).toBe('nothing')
  })

  it('is taken from bytes of another realm, as in an environment of jsdom', async () => {
    const { wire, request, read } = await receive({ 'content-length': 2 })
    await wire.send('{}')
    await text(request)
    const rawBody = runInNewContext('new Uint8Array([123, 125])')
    Object.assign(request, { rawBody })
    expect(read(10)).toBe(rawBody)
    wire.abort()
  })

  it('was consumed if an encoding was set on its request', async () => {
    const { wire, request, read } = await receive({ 'content-length': 10 })
    request.setEncoding('utf8')
    expect(read(10)).toEqual({ failure: 'body_consumed', fix: 'the fix' })
    wire.abort()
  })
})

it('queued requests on one connection share one listener of it', async () => {
  const { receiver, outcomes } = createScene()
  const handler = nodeHandler(receiver)
  let request: IncomingMessage | undefined
  const ends: (() => void)[] = []
  const port = await serve((incoming, response) => {
    if (request !== undefined) return void handler(incoming, response)
    request = incoming.resume()
    ends.push(() => response.end())
  })
  const wire = await Wire.open(port)
  await wire.send(head({ 'content-length': 0 }))
  await expect.poll(() => ends.length).toBe(1)
  const before = request?.socket.listenerCount('close') ?? 0
  for (let count = 1; count <= 5; count++) {
    await wire.send(head({ 'content-length': 0 }, { method: 'GET' }))
    await expect.poll(() => outcomes.length).toBe(count)
  }
  expect(request?.socket.listenerCount('close')).toBe(before + 1)
  wire.abort()
})
