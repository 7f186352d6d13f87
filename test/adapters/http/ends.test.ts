import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import { connect, createServer as createServer2 } from 'node:http2'
import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import express from 'express'
import { expressHandler } from 'postern/express'
import { nodeHandler } from 'postern/node'
import { fetchHandler } from 'postern/web'
import { describe, expect, it, onTestFinished } from 'vitest'
import { NodeRequest } from '../../../adapters/http/body.ts'
import { listen, portOf } from './hosts.ts'
import { createScene, expectAnswer, SECRET, sample, toOutgoing } from './scene.ts'
import { head, Wire } from './wire.ts'

async function openNode(work?: () => unknown) {
  const scene = createScene({}, work)
  const { port, close } = await listen(createServer(nodeHandler(scene.receiver)))
  onTestFinished(close)
  return { ...scene, port, wire: await Wire.open(port) }
}

const whole = ({ headers, bytes }: ReturnType<typeof sample>) => Buffer.concat([Buffer.from(head(headers)), bytes])

describe('close() of a receiver', () => {
  it.each([
    ['refused', sample({ tamper: 'no-header' })],
    ['being handled', sample()],
  ])(
    'does not wait for an answer to a sender that disconnected while it was queued behind one that was %s',
    async (_what, first) => {
      const handlers: (() => void)[] = []
      const { receiver, wire, outcomes } = await openNode(() => new Promise<void>((resolve) => handlers.push(resolve)))
      await wire.send(Buffer.concat([whole(first), ...Array.from({ length: 30 }, () => whole(sample()))]))
      await expect.poll(() => handlers.length).toBeGreaterThanOrEqual(30)
      wire.abort()
      await sleep(50)
      for (const end of handlers) end()
      await expect.poll(() => outcomes.length).toBe(31)
      expect(await receiver.close({ timeoutMs: Infinity })).toEqual({ unfinished: 0 })
    },
  )

  it('does not wait for an answer to an HTTP/2 stream that was reset before the receiver was called', async () => {
    const { receiver, outcomes } = createScene()
    const handle = nodeHandler(receiver) as unknown as (request: unknown, response: unknown) => Promise<void> // of http2's layer
    const server = createServer2(async (request, response) => {
      await sleep(100)
      await handle(request, response)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const session = connect(`http://127.0.0.1:${portOf(server)}`).on('error', () => {})
    onTestFinished(() => {
      session.destroy()
      server.close()
    })
    const delivery = sample()
    const stream = session.request({ ':method': 'POST', ':path': '/', ...toOutgoing(delivery.headers) })
    stream.on('error', () => {}).write(delivery.bytes.subarray(0, 20))
    await sleep(30)
    stream.close(8)
    await expect.poll(() => outcomes.length).toBe(1)
    expect(outcomes[0]).toMatchObject({ code: 'body_incomplete' })
    expect(await receiver.close({ timeoutMs: Infinity })).toEqual({ unfinished: 0 })
  })
})

it('does not wait for answers to senders that disconnected before the receiver was called, one after the other', async () => {
  const { receiver, outcomes } = createScene()
  const handle = nodeHandler(receiver)
  const server = createServer(async (request, response) => {
    await sleep(100)
    await handle(request, response)
  })
  const { port, close } = await listen(server)
  onTestFinished(close)
  const wire = await Wire.open(port)
  await wire.send(Buffer.concat([whole(sample({ tamper: 'no-header' })), whole(sample({ tamper: 'no-header' }))]))
  await sleep(20)
  wire.abort()
  await expect.poll(() => outcomes.length).toBe(2)
  expect(await receiver.close({ timeoutMs: Infinity })).toEqual({ unfinished: 0 })
})

it('writes its headers even through middleware that reads lists as pairs, and returns nothing', async () => {
  const { receiver } = createScene({ maxInFlight: 1 })
  const handle = nodeHandler(receiver)
  const server = createServer((request, response) => {
    const { writeHead } = response
    // Wraps it as on-headers did before 1.1, which compression and express-session are built on.
    response.writeHead = ((status: number, headers: Record<string, string> | readonly string[]) => {
      if (Array.isArray(headers)) for (const [name, value] of headers) response.setHeader(name ?? '', value ?? '')
      else for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
      writeHead.call(response, status)
    }) as never // returns nothing
    void handle(request, response)
  })
  const { port, close } = await listen(server)
  onTestFinished(close)
  const wire = await Wire.open(port)
  await wire.send(head({ 'content-length': 0 }, { method: 'GET' }))
  const { status, headers, body } = await wire.answer()
  expect([status, headers.allow, headers['content-length']]).toEqual([405, 'POST', String(body.length)])
})

it('reads a request that earlier middleware had paused', async () => {
  const { receiver } = createScene()
  const app = express()
  app.use((request, _response, next) => {
    request.pause()
    setTimeout(next, 20)
  })
  app.post('/webhooks', expressHandler(receiver))
  const { port, close } = await listen(createServer(app))
  onTestFinished(close)
  const wire = await Wire.open(port)
  const delivery = sample()
  await wire.send(head(delivery.headers))
  await wire.send(delivery.bytes)
  expectAnswer(await wire.answer(), 200, 'handled', delivery.id)
})

it('retains only the bytes of the body of what was read from a socket', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void // the flag adds it
  const stream = Object.assign(new PassThrough(), { method: 'POST', headers: {}, httpVersionMajor: 1, aborted: false })
  const request = new NodeRequest(stream as never, {} as never, {}, '') // the test only looks at this part of a request
  const before = process.memoryUsage().arrayBuffers
  const reading = request.read(1_000, { take: () => true, reserve: () => true })
  for (let count = 0; count < 500; count++) {
    stream.write(Buffer.from(new ArrayBuffer(262_144), 0, 1).fill(0x20))
    await sleep(0)
  }
  collect()
  await sleep(100) // buffers are freed concurrently with the program
  expect((process.memoryUsage().arrayBuffers - before) / 1_048_576).toBeLessThan(20)
  stream.end()
  expect(await reading).toEqual(Buffer.alloc(500, 0x20))
})

describe('a Fetch request', () => {
  const request = (
    body: Uint8Array | ReadableStream | null,
    { headers }: ReturnType<typeof sample>,
    more: object = {},
  ) =>
    new Request('http://localhost/webhooks', {
      method: 'POST',
      headers: Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]),
      body,
      duplex: 'half',
      ...more,
    } as RequestInit)

  it('whose stream returns text reports the mistake, and does not affect others', async () => {
    const { receiver, errors } = createScene()
    const handle = fetchHandler(receiver)
    const delivery = sample()
    const text = new Blob([new Uint8Array(delivery.bytes)]).stream().pipeThrough(new TextDecoderStream())
    const undeclared = {
      ...delivery,
      headers: Object.fromEntries(Object.entries(delivery.headers).filter(([name]) => name !== 'content-length')),
    }
    // Node's own Request refuses such a stream; other hosts do not.
    const odd = Object.create(request(null, undeclared), {
      body: { value: text },
      bodyUsed: { value: false },
    }) as Request
    for (const name of ['method', 'headers', 'signal'] as const)
      Object.defineProperty(odd, name, { value: Reflect.get(request(null, undeclared), name) })
    expect((await handle(odd)).status).toBe(500)
    expect(errors[0]).toMatchObject({ code: 'body_consumed', message: expect.stringContaining('other than bytes') })
    const good = sample()
    expect((await handle(request(new Uint8Array(good.bytes), good))).status).toBe(200)
  })

  it('whose sender has disconnected is an incomplete body, not a wrong signature', async () => {
    const { receiver, outcomes } = createScene()
    const delivery = sample()
    const gone = new AbortController()
    const body = new ReadableStream({
      async pull(controller) {
        controller.enqueue(delivery.bytes.subarray(0, 10))
        gone.abort()
        controller.close()
      },
    })
    const { 'content-length': _, ...headers } = delivery.headers
    await fetchHandler(receiver)(request(body, { ...delivery, headers }, { signal: gone.signal }))
    expect(outcomes[0]).toMatchObject({ code: 'body_incomplete' })
  })

  it.each<[string, object, object, number]>([
    ['of HTTP/1', {}, {}, 1],
    ['of HTTP/2, whose fragments are the host’s,', { httpVersionMajor: 2 }, {}, 0],
    ['on which middleware has set an encoding', { readableEncoding: 'utf8' }, {}, 0],
    ['that a lenient parser let through with two lengths', {}, { 'transfer-encoding': 'chunked' }, 0],
  ])(
    'that its host replaced by a light one %s is read by its own arrayBuffer if that keeps the bytes',
    async (...row) => {
      const [, incoming, more, times] = row
      const { receiver } = createScene()
      const delivery = sample()
      const real = request(new Uint8Array(delivery.bytes), { ...delivery, headers: { ...delivery.headers, ...more } })
      let reads = 0
      const light = Object.create(real, {
        [Symbol('incoming')]: { value: { httpVersionMajor: 1, readableEncoding: null, ...incoming } },
        arrayBuffer: {
          value: () => {
            reads++
            return real.arrayBuffer()
          },
        },
      }) as Request
      for (const name of ['method', 'headers', 'signal', 'body', 'bodyUsed'] as const)
        Object.defineProperty(light, name, { get: () => Reflect.get(real, name) })
      expect((await fetchHandler(receiver)(light)).status).toBe(200)
      expect(reads).toBe(times)
    },
  )

  it('retains only the bytes of the body of what its host read from a socket', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void // the flag adds it
    const { receiver } = createScene()
    const delivery = sample()
    const before = process.memoryUsage().arrayBuffers
    let grown = 0
    const parts = [...delivery.bytes].map((byte) => new Uint8Array(new ArrayBuffer(262_144), 0, 1).fill(byte))
    const body = new ReadableStream({
      async pull(controller) {
        const part = parts.shift()
        if (part !== undefined) return controller.enqueue(part)
        collect()
        await sleep(100)
        grown = process.memoryUsage().arrayBuffers - before
        controller.close()
      },
    })
    expect((await fetchHandler(receiver)(request(body, delivery))).status).toBe(200)
    expect(delivery.bytes.length).toBeGreaterThan(100)
    expect(grown / 1_048_576).toBeLessThan(10)
  })

  it('of a method that Fetch cannot open is answered 405', async () => {
    const { receiver } = createScene()
    const light = Object.create(request(null, sample()), {
      method: { value: 'TRACK' },
      headers: { value: new Headers() },
      bodyUsed: { value: false },
      body: {
        get: () => {
          throw new TypeError("'TRACK' HTTP method is unsupported.")
        },
      },
    }) as Request
    expect((await fetchHandler(receiver)(light)).status).toBe(405)
  })
})

it('reports that an encoding was set on a request while its body is read, and throws nothing', async () => {
  const { receiver, errors } = createScene()
  const handle = nodeHandler(receiver)
  const { port, close } = await listen(
    createServer((request, response) => {
      void handle(request, response)
      request.setEncoding('utf8').on('data', () => {})
    }),
  )
  onTestFinished(close)
  for (const delivery of [sample(), sample({ tamper: 'flip-bit' })]) {
    const wire = await Wire.open(port)
    await wire.send(whole(delivery))
    expectAnswer(await wire.answer(), 500, 'body_consumed')
  }
  expect(errors[0]?.message).toContain('Something called setEncoding() on the request')
})

it('finishes a refused request when its answer has ended, so that its framework does not end it', async () => {
  const { receiver } = createScene()
  const handle = nodeHandler(receiver)
  const ended: boolean[] = []
  const { port, close } = await listen(
    createServer(async (request, response) => {
      await handle(request, response)
      ended.push(response.writableEnded)
    }),
  )
  onTestFinished(close)
  const wire = await Wire.open(port)
  const { headers, bytes } = sample({ tamper: 'no-header' })
  const { 'content-length': _, ...undeclared } = headers
  await wire.send(head({ ...undeclared, 'transfer-encoding': 'chunked' }))
  expectAnswer(await wire.answer(), 401, 'unauthorized')
  expect(ended).toEqual([])
  await wire.send(`${bytes.length.toString(16)}\r\n`)
  await wire.send(bytes)
  await wire.send('\r\n0\r\n\r\n')
  await expect.poll(() => ended).toEqual([true])
})

it('keeps the bytes of no delivery that waits for its handlers', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void // the flag adds it
  for (const secret of [SECRET, async () => SECRET]) {
    const { receiver } = createScene({ secret }, () => new Promise(() => {}))
    const kept = Array.from({ length: 5 }, () => {
      const { bytes, headers } = sample()
      const body = new Uint8Array(bytes)
      void receiver.receive({ body, signature: String(headers['x-service-signature']) })
      return new WeakRef(body)
    })
    await sleep(50)
    collect()
    expect(kept.filter((body) => body.deref() !== undefined)).toHaveLength(0)
  }
})

describe('a response that is not one of node:http', () => {
  it.each([
    [undefined, undefined],
    [null, null],
    [null, {}],
  ])('may have %j for a socket, and its request %j', (socket, ofRequest) => {
    const response = Object.assign(new EventEmitter(), { socket })
    let calls = 0
    new NodeRequest({ socket: ofRequest } as never, response as never, {}, '').onAnswered(() => calls++)
    response.emit('finish')
    expect(calls).toBe(1)
  })

  it.each([['finish'], ['close']])('counts as written at its %s', (ending) => {
    const response = Object.assign(new EventEmitter(), { socket: { writable: true } })
    const request = new NodeRequest({ socket: {} } as never, response as never, {}, '') // the test only looks at this part of them
    let calls = 0
    request.onAnswered(() => calls++)
    response.emit(ending)
    expect(calls).toBe(1)
  })
})
