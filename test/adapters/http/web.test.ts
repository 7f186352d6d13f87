import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver, type Outcome } from 'postern'
import { events, signed, silentLogger } from 'postern/testing'
import { type FetchHandlerOptions, fetchHandler } from 'postern/web'
import { describe, expect, it } from 'vitest'
import { Gate } from '../../support/gate.ts'
import { createScene, exposeGc, SECRET, sample } from './scene.ts'

const URL = 'https://app.example.test/webhooks'

it.each([
  ['was read', async (request: Request) => void (await request.text())],
  ['was read in part', async (request: Request) => void (await readOnce(request))],
  ['is being read', async (request: Request) => void request.body?.getReader()],
])('answers 500 and names the fix if the body %s before', async (_, spoil) => {
  const { receiver, outcomes, log, runs } = createScene()
  const request = signed(events.contact.created(), { secret: SECRET }).request()
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
  const request = signed(events.contact.created(), { secret: SECRET }).request()
  await request.clone().json()
  expect((await fetchHandler(receiver)(request)).status).toBe(200)
})

it('treats a request without a body as empty', async () => {
  const { receiver } = createScene()
  const { headers } = signed('', { secret: SECRET })
  const response = await fetchHandler(receiver)(new Request(URL, { method: 'POST', headers }))
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ code: 'invalid_json' })
})

it('reports that a body was left out on the way, and not that its signature is wrong', async () => {
  const { receiver, outcomes } = createScene()
  const { headers } = sample()
  const entries = Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string])
  const response = await fetchHandler(receiver)(new Request('http://localhost/', { method: 'POST', headers: entries }))
  expect([response.status, outcomes]).toMatchObject([400, [{ code: 'body_incomplete' }]])
})

it('counts the bytes of a body whose length was understated', async () => {
  const { receiver, runs } = createScene({ maxBodyBytes: 1_000 })
  const { headers } = sample()
  const { stream, pulls } = streamOf(endless(100), { everyMs: 1 })
  const response = await fetchHandler(receiver)(post({ ...headers, 'content-length': 50 }, stream))
  expect(response.status).toBe(413)
  expect(runs.size).toBe(0)
  expect(pulls()).toBeLessThan(20)
})

it.each([-1, 1])('answers 400 if the length of the body is off by %i byte', async (off) => {
  const { receiver, runs } = createScene()
  const { bytes, headers } = sample()
  const response = await fetchHandler(receiver)(
    post({ ...headers, 'content-length': bytes.length + off }, streamOf([bytes]).stream),
  )
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ code: 'body_incomplete' })
  expect(runs.size).toBe(0)
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

it('reads the rest of a refused body, so that its sender reads the answer', async () => {
  const { receiver, storeCalls } = createScene()
  const { bytes, headers } = sample({ tamper: 'no-header' })
  const { stream, pulls, isCancelled } = streamOf(Array.from({ length: 50 }, () => bytes))
  const response = await fetchHandler(receiver)(post({ ...headers, 'content-length': 50 * bytes.length }, stream))
  expect(response.status).toBe(401)
  await expect.poll(pulls).toBe(51)
  expect(isCancelled()).toBe(false)
  expect(storeCalls()).toBe(0)
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

it('passes the source to the secrets function and to the owner', async () => {
  const outcomes: [Outcome, string | undefined][] = []
  const receiver = createReceiver({
    secret: ({ source }) => (source === 'acme' ? { secret: SECRET, accountKey: 'acme' } : undefined),
    onOutcome: (outcome, { source }) => outcomes.push([outcome, source]),
    logger: silentLogger,
  }).on('*', () => {})
  const handle = fetchHandler(receiver, { source: (request) => request.url.split('/').at(-1) })
  const delivery = signed(events.contact.created(), { secret: SECRET })
  expect((await handle(delivery.request('https://app.example.test/webhooks/acme'))).status).toBe(200)
  expect((await handle(delivery.request('https://app.example.test/webhooks/other'))).status).toBe(401)
  expect(outcomes.map(([{ status }, source]) => [status, source])).toEqual([
    [200, 'acme'],
    [401, 'other'],
  ])
})

it.each([
  ['the option', (waitUntil: WaitUntil) => [{ waitUntil }]],
  ['the context that a Worker gets', (waitUntil: WaitUntil) => [{}, { secret: 'env' }, { waitUntil }]],
  ['the context before the environment', (waitUntil: WaitUntil) => [{}, { waitUntil }, undefined, null, 'text']],
])('passes late work to waitUntil of %s', async (_, place) => {
  const gate = new Gate()
  const { receiver, outcomes } = createScene({ deadlineMs: 100 }, () => gate.promise)
  const handed: Promise<unknown>[] = []
  const [options, ...host] = place((promise) => handed.push(promise))
  const handle = fetchHandler(receiver, options as FetchHandlerOptions) // each row has options first
  expect((await handle(signed(events.contact.created(), { secret: SECRET }).request(), ...host)).status).toBe(503)
  expect(handed).toHaveLength(1)
  gate.open()
  await handed[0]
  expect(outcomes).toMatchObject([{ outcome: 'late' }, { outcome: 'handled', late: true }])
})

describe('a Fetch request', () => {
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
    await fetchHandler(receiver)(new Request(post(headers, body), { signal: gone.signal }))
    expect(outcomes[0]).toMatchObject({ code: 'body_incomplete' })
  })

  it.each<[string, number, object, number]>([
    ['of HTTP/1', 1, {}, 1],
    ['of HTTP/2, whose fragments may retain what the host read with them,', 2, {}, 0],
    ['that a lenient parser let through with two lengths', 1, { 'transfer-encoding': 'chunked' }, 0],
  ])(
    'that its host replaced by a light one %s is read by its own arrayBuffer if that keeps only the bytes',
    async (_, httpVersionMajor, more, times) => {
      const { receiver } = createScene()
      const delivery = sample()
      const real = post({ ...delivery.headers, ...more }, delivery.bytes)
      let reads = 0
      const light = standInFor(real, {
        [Symbol('incoming')]: { value: { httpVersionMajor } },
        arrayBuffer: {
          value: () => {
            reads++
            return real.arrayBuffer()
          },
        },
      })
      expect((await fetchHandler(receiver)(light)).status).toBe(200)
      expect(reads).toBe(times)
    },
  )

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

  it('of a method that Fetch cannot open is answered 405', async () => {
    const { receiver } = createScene()
    const light = standInFor(post({}, null), {
      [Symbol('incoming')]: { value: { httpVersionMajor: 1 } },
      method: { value: 'TRACK' },
      headers: { value: new Headers() },
      bodyUsed: { value: false },
      body: {
        get: () => {
          throw new TypeError("'TRACK' HTTP method is unsupported.")
        },
      },
    })
    expect((await fetchHandler(receiver)(light)).status).toBe(405)
  })
})

type WaitUntil = (promise: Promise<unknown>) => void

function post(headers: Readonly<Record<string, unknown>>, body: ReadableStream<Uint8Array> | Buffer | null): Request {
  const lines = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
  const init = { method: 'POST', headers: lines, body: Buffer.isBuffer(body) ? new Uint8Array(body) : body }
  return new Request(URL, { ...init, duplex: 'half' })
}

/** Makes an object like a request with properties of its own, as hosts do. */
function standInFor(request: Request, own: PropertyDescriptorMap): Request {
  const names = ['method', 'headers', 'signal', 'body', 'bodyUsed']
  const inherited = names.map((name) => [name, { get: () => Reflect.get(request, name) }])
  return Object.create(request, { ...Object.fromEntries(inherited), ...own })
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
  let isCancelled = false
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
        isCancelled = true
        onCancel()
      },
    },
    { highWaterMark: 0 },
  )
  return { stream, cancelled, pulls: () => pulls, isCancelled: () => isCancelled }
}
