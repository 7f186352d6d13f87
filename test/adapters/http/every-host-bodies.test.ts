import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { distinctHosts, type Host } from './hosts.ts'
import {
  deliver,
  expectAnswer,
  expectUntouched,
  type Scene,
  sample,
  sampleOf,
  startScene,
  withoutLength,
} from './scene.ts'
import { chunked, exchange, head, Wire } from './wire.ts'

const LIMIT = 1_048_576

/** Bodies that arrive in pieces, late, too long, too short, or not at all, on every host. */
describe.each(distinctHosts)('$name', (host: Host) => {
  describe('a body in pieces', () => {
    it('arrives byte by byte', async () => {
      const scene = await startScene(host)
      const { bytes, headers } = sampleOf('{"id":"evt_ë","type":"sync.completed","timestamp":"","accountKey":"🚪"}')
      const bytewise = Array.from(bytes, (byte) => Buffer.of(byte))
      expectAnswer(await exchange(scene.port, head(headers), ...bytewise), 200, 'handled', 'evt_ë')
    })

    it.each([1, 100])('arrives in chunks of %i bytes', async (size) => {
      const scene = await startScene(host)
      const { bytes, headers, id } = sample()
      expectAnswer(await exchange(scene.port, head(withoutLength(headers)), chunked(bytes, size)), 200, 'handled', id)
    })

    it('arrives behind another one, before that is answered', async () => {
      const scene = await startScene(host, {}, () => sleep(20))
      const [first, second] = [sample(), sample()]
      const wire = await Wire.open(scene.port)
      await wire.send(
        Buffer.concat([Buffer.from(head(first.headers)), first.bytes, Buffer.from(head(second.headers)), second.bytes]),
      )
      expectAnswer(await wire.answer(), 200, 'handled', first.id)
      expectAnswer(await wire.answer(), 200, 'handled', second.id)
      wire.abort()
    })
  })

  describe('a refused body', () => {
    it('leaves the connection usable for the next one', async () => {
      const scene = await startScene(host)
      const [forged, right] = [sample({ tamper: 'flip-bit' }), sample()]
      const wire = await Wire.open(scene.port)
      await wire.send(head(forged.headers), forged.bytes)
      expectAnswer(await wire.answer(), 401, 'unauthorized')
      await wire.send(head(right.headers), right.bytes)
      expectAnswer(await wire.answer(), 200, 'handled', right.id)
      wire.abort()
    })

    it('leaves the connection usable for the next one, even if it arrives after its answer', async () => {
      const scene = await startScene(host)
      const [forged, right] = [sample({ tamper: 'no-header' }), sample()]
      const wire = await Wire.open(scene.port)
      await wire.send(head({ ...forged.headers, 'content-length': 200_000 }))
      expectAnswer(await wire.answer(), 401, 'unauthorized')
      await wire.send(Buffer.alloc(200_000))
      await wire.send(head(right.headers), right.bytes)
      expectAnswer(await wire.answer(), 200, 'handled', right.id)
      wire.abort()
    })

    it('can contain a signed request, which is not run', async () => {
      const scene = await startScene(host)
      const [inner, right] = [sample(), sample()]
      const smuggled = Buffer.concat([Buffer.from(head(inner.headers)), inner.bytes])
      const { headers } = sample({ tamper: 'no-header' })
      const wire = await Wire.open(scene.port)
      await wire.send(head({ ...headers, 'content-length': smuggled.length }), smuggled)
      expectAnswer(await wire.answer(), 401, 'unauthorized')
      await wire.send(head(right.headers), right.bytes)
      expectAnswer(await wire.answer(), 200, 'handled', right.id)
      expect([...scene.runs.keys()]).toEqual([right.id])
      wire.abort()
    })
  })

  describe('a body over the limit', () => {
    it('is answered 413 even if it is one byte and has arrived completely', async () => {
      const scene = await startScene(host)
      const { headers } = sample()
      const answer = await exchange(
        scene.port,
        head({ ...headers, 'content-length': LIMIT + 1 }),
        Buffer.alloc(LIMIT + 1),
      )
      expectAnswer(answer, 413, 'body_too_large')
      expectUntouched(scene)
    })

    it('is answered 413 at the limit if no length is declared', async () => {
      const scene = await startScene(host)
      const wire = await Wire.open(scene.port)
      await wire.send(head(withoutLength(sample().headers)))
      // There is no last chunk: only the limit can cause the answer.
      await wire.send(`${(LIMIT + 1).toString(16)}\r\n`, Buffer.alloc(LIMIT + 1))
      expectAnswer(await wire.answer(), 413, 'body_too_large')
      wire.abort()
      expectUntouched(scene)
    })
  })

  describe('a body that does not match its declaration', () => {
    it.each([
      ['is shorter, and the connection ends', async (wire: Wire) => wire.end()],
      ['is shorter, and the connection is reset', async (wire: Wire) => wire.abort()],
    ])('%s', async (_, leave) => {
      const scene = await startScene(host, { deadlineMs: 2_000 })
      const { bytes, headers } = sample()
      const wire = await Wire.open(scene.port)
      await wire.send(head({ ...headers, 'content-length': bytes.length + 1 }), bytes)
      await sleep(20)
      await leave(wire)
      await expectRefusedOrClosed(wire, scene)
    })

    it('has no last chunk before the connection ends', async () => {
      const scene = await startScene(host, { deadlineMs: 2_000 })
      const wire = await Wire.open(scene.port)
      await wire.send(head(withoutLength(sample().headers)), '2\r\nab\r\n')
      wire.end()
      await expectRefusedOrClosed(wire, scene)
    })
  })
})

/** Slow cases run concurrently on all hosts. */
describe('on every host', () => {
  it.each<[string, (wire: Wire, bytes: Uint8Array) => Promise<void>]>([
    ['does not arrive at all', async () => {}],
    ['does not arrive as a whole', (wire, bytes) => wire.send(bytes.subarray(0, 40))],
    [
      'trickles',
      async (wire, bytes) => {
        for (let at = 0; at < 8; at++) {
          await wire.send(bytes.subarray(at, at + 1))
          await sleep(50)
        }
      },
    ],
  ])('a body that %s is cut at the deadline', (_, sendSome) =>
    onEveryHost(distinctHosts, async (host) => {
      const scene = await startScene(host, { deadlineMs: 300 })
      const { bytes, headers } = sample()
      const wire = await Wire.open(scene.port)
      await wire.send(head(headers))
      await sendSome(wire, bytes)
      expectAnswer(await wire.answer(), 408, 'body_timeout')
      wire.abort()
      expectUntouched(scene)
    }),
  )

  it.each([
    ['is declared too long', { 'content-length': 104_857_600 }, 'a', 413],
    [
      'is in chunks, behind a bad head',
      { 'transfer-encoding': 'chunked', 'x-service-signature': 'x' },
      '1\r\na\r\n',
      401,
    ],
    ['is too slow', { 'content-length': 10 }, 'a', 408],
  ])('the connection of a body that %s ends some two seconds after the answer', (_, odd, body, status) =>
    // Behind a Fetch handler the host is responsible for the connection.
    onEveryHost(
      distinctHosts.filter(({ isFetch }) => !isFetch),
      async (host) => {
        const scene = await startScene(host, { deadlineMs: 150 })
        const wire = await Wire.open(scene.port)
        const { 'content-length': _length, ...headers } = sample().headers
        await wire.send(head({ ...headers, ...odd }), body)
        const answer = await wire.answer()
        expect(answer).toMatchObject({ status, headers: { connection: 'close' } })
        const answeredAt = performance.now()
        await wire.closed()
        expect(performance.now() - answeredAt).toBeGreaterThan(1_500)
      },
    ),
  )
})

/** Runs a case concurrently on all of these hosts; its failures name the hosts. */
async function onEveryHost(all: readonly Host[], run: (host: Host) => Promise<void>): Promise<void> {
  const failures = await Promise.all(
    all.map((host) =>
      run(host).then(
        () => [],
        (error: unknown) => [new Error(`on ${host.name}: ${String(error)}`, { cause: error })],
      ),
    ),
  )
  const [first, ...more] = failures.flat()
  if (first !== undefined) throw more.length === 0 ? first : new AggregateError([first, ...more], first.message)
}

/** Expects a 4xx answer, or none, and no run of a handler. */
async function expectRefusedOrClosed(wire: Wire, scene: Scene): Promise<void> {
  const answer = await wire.answerOrEnd()
  if (answer !== undefined) {
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.status).toBeLessThan(500)
  }
  expectUntouched(scene)
  const delivery = sample()
  expectAnswer(await deliver(scene, delivery), 200, 'handled', delivery.id)
  expect([...scene.runs.keys()]).toEqual([delivery.id])
}
