import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import { expressHandler } from 'postern/express'
import { nodeHandler } from 'postern/node'
import { describe, expect, it } from 'vitest'
import { NodeRequest } from '../../../adapters/http/body.ts'
import { createScene, expectAnswer, exposeGc, SECRET, sample, serve } from './scene.ts'
import { head, Wire } from './wire.ts'

async function openNode(work?: () => unknown) {
  const scene = createScene({}, work)
  const port = await serve(nodeHandler(scene.receiver))
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
})

it('does not wait for answers to senders that disconnected before the receiver was called, one after the other', async () => {
  const { receiver, outcomes } = createScene()
  const handle = nodeHandler(receiver)
  const port = await serve(async (request, response) => {
    await sleep(100)
    await handle(request, response)
  })
  const wire = await Wire.open(port)
  await wire.send(Buffer.concat([whole(sample({ tamper: 'no-header' })), whole(sample({ tamper: 'no-header' }))]))
  await sleep(20)
  wire.abort()
  await expect.poll(() => outcomes.length).toBe(2)
  expect(await receiver.close({ timeoutMs: Infinity })).toEqual({ unfinished: 0 })
})

it('reads a request that earlier middleware had paused', async () => {
  const { receiver } = createScene()
  const app = express()
  app.use((request, _response, next) => {
    request.pause()
    setTimeout(next, 20)
  })
  app.post('/webhooks', expressHandler(receiver))
  const port = await serve(app)
  const wire = await Wire.open(port)
  const delivery = sample()
  await wire.send(head(delivery.headers))
  await wire.send(delivery.bytes)
  expectAnswer(await wire.answer(), 200, 'handled', delivery.id)
})

it('retains only the bytes of the body of what was read from a socket', async () => {
  const collect = exposeGc()
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

it('reports that an encoding was set on a request while its body is read, and throws nothing', async () => {
  const { receiver, errors } = createScene()
  const handle = nodeHandler(receiver)
  const port = await serve((request, response) => {
    void handle(request, response)
    request.setEncoding('utf8').on('data', () => {})
  })
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
  const port = await serve(async (request, response) => {
    await handle(request, response)
    ended.push(response.writableEnded)
  })
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
  const collect = exposeGc()
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
