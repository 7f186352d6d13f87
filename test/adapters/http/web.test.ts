import { setTimeout as sleep } from 'node:timers/promises'
import { events, signed } from 'postern/testing'
import { fetchHandler } from 'postern/web'
import { expect, it } from 'vitest'
import { Gate } from '../../support/gate.ts'
import { createScene, exposeGc, SECRET, sample, sampleOf } from './scene.ts'

const URL = 'https://app.example.test/webhooks'
const DELIVERY = sample()
const BYTES = DELIVERY.bytes

const newRequest = () => signed(events.contact.created(), { secret: SECRET }).request(URL)

it.each([
  ['was read', async (request: Request) => void (await request.text())],
  ['was read in part', async (request: Request) => void (await readOnce(request))],
  ['is being read', async (request: Request) => void request.body?.getReader()],
])('answers 500 and names the fix if the body %s before', async (_, spoil) => {
  const { receiver, outcomes, log, runs } = createScene()
  const request = newRequest()
  await spoil(request)
  const response = await fetchHandler(receiver)(request)
  expect(response.status).toBe(500)
  expect(await response.json()).toEqual({ code: 'body_consumed' })
  expect(outcomes).toMatchObject([{ outcome: 'error', code: 'body_consumed' }])
  expect(log()).toContain('await request.clone().json()')
  expect(runs.size).toBe(0)
})

it('accepts a request that was cloned and read', async () => {
  const { receiver } = createScene()
  const request = newRequest()
  await request.clone().json()
  expect((await fetchHandler(receiver)(request)).status).toBe(200)
})

it.each<[string, ReadableStream<Uint8Array> | null, object, number, string]>([
  ['no body, and was signed so', null, sampleOf('').headers, 400, 'invalid_json'],
  ['lost its body on the way', null, DELIVERY.headers, 400, 'body_incomplete'],
  ['is a byte shorter than declared', streamOf([BYTES.subarray(1)]).stream, DELIVERY.headers, 400, 'body_incomplete'],
  [
    'is a byte longer than declared',
    streamOf([BYTES, Buffer.from(' ')]).stream,
    DELIVERY.headers,
    400,
    'body_incomplete',
  ],
])('answers a request that %s', async (_what, body, headers, status, code) => {
  const { receiver, runs } = createScene()
  const response = await fetchHandler(receiver)(post(headers, body))
  expect([response.status, await response.json()]).toEqual([status, { code }])
  expect(runs.size).toBe(0)
})

it('counts the bytes of a body whose length was understated', async () => {
  const { receiver } = createScene({ maxBodyBytes: 1_000 })
  const { stream, pulls } = streamOf(endless(100), { everyMs: 1 })
  const response = await fetchHandler(receiver)(post({ ...DELIVERY.headers, 'content-length': 50 }, stream))
  expect(response.status).toBe(413)
  expect(pulls()).toBeLessThan(20)
})

it('answers 408 if the body stops arriving, and cancels it some time later', async () => {
  const { receiver } = createScene({ deadlineMs: 100 })
  const { bytes, headers } = sample()
  const { stream, cancelled } = streamOf([bytes.subarray(0, 20)], { isSilentAfter: true })
  const response = await fetchHandler(receiver)(post(headers, stream))
  expect(response.status).toBe(408)
  const answeredAt = performance.now()
  await cancelled
  expect(performance.now() - answeredAt).toBeGreaterThan(1_500)
})

it.each([
  ['comes slowly', 5],
  ['comes faster than timers run', 0],
])('cancels a refused body that does not end and %s', async (_, everyMs) => {
  const { receiver } = createScene({ deadlineMs: 100 })
  const { headers } = sample({ tamper: 'no-header' })
  const { stream, cancelled } = streamOf(endless(100), { everyMs })
  const response = await fetchHandler(receiver)(post(headers, stream))
  expect(response.status).toBe(401)
  await cancelled
})

it('survives a refused body that breaks off, or cannot be cancelled', async () => {
  const { receiver } = createScene({ deadlineMs: 100 })
  const { 'content-length': length, ...headers } = sample({ tamper: 'no-header' }).headers
  const breaking = new ReadableStream({ pull: (controller) => controller.error(new Error('reset by peer')) })
  const stuck = new ReadableStream({ cancel: () => Promise.reject(new Error('no')) })
  for (const stream of [breaking, stuck])
    expect((await fetchHandler(receiver)(post({ ...headers, 'content-length': length ?? 0 }, stream))).status).toBe(401)
  await sleep(200)
})

it.each<[string, (context: object) => readonly unknown[]]>([
  ['that a Worker gets', (context) => [{ secret: 'env' }, context]],
  ['before the environment', (context) => [context, undefined, null, 'text']],
])('passes late work to waitUntil of the context %s', async (_, toHost) => {
  const { receiver } = createScene({ deadlineMs: 100 }, () => new Promise(() => {}))
  const handed: unknown[] = []
  const host = toHost({ waitUntil: (work: unknown) => handed.push(work) })
  expect((await fetchHandler(receiver)(newRequest(), ...host)).status).toBe(503)
  expect(handed).toHaveLength(1)
})

it('retains only the bytes of the body of what its host read from a socket', async () => {
  const collect = exposeGc()
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
  expect((await fetchHandler(receiver)(post(delivery.headers, body))).status).toBe(200)
  expect(delivery.bytes.length).toBeGreaterThan(100)
  expect(grown / 1_048_576).toBeLessThan(10)
})

function post(headers: object, body: ReadableStream<Uint8Array> | Buffer | null): Request {
  const lines = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
  const init = { method: 'POST', headers: lines, body: Buffer.isBuffer(body) ? new Uint8Array(body) : body }
  return new Request(URL, { ...init, duplex: 'half' })
}

async function readOnce({ body }: Request): Promise<void> {
  const reader = body?.getReader()
  await reader?.read()
  reader?.releaseLock()
}

function* endless(size: number): Generator<Uint8Array> {
  for (;;) yield new Uint8Array(size)
}

/** A stream that records its calls. */
function streamOf(parts: Iterable<Uint8Array>, { isSilentAfter = false, everyMs = 0 } = {}) {
  const iterator = parts[Symbol.iterator]()
  let pulls = 0
  const { promise: cancelled, open: onCancel } = new Gate()
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        pulls++
        if (everyMs > 0) await sleep(everyMs)
        const { value, done } = iterator.next()
        if (!done) controller.enqueue(value)
        else if (isSilentAfter) await cancelled
        else controller.close()
      },
      cancel() {
        onCancel()
      },
    },
    { highWaterMark: 0 },
  )
  return { stream, cancelled, pulls: () => pulls }
}
