import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { createReceiver, type Outcome, type WebhookEvent } from 'postern'
import { nodeHandler } from 'postern/node'
import { events, signed, silentLogger } from 'postern/testing'
import { fetchHandler } from 'postern/web'
import { describe, expect, it } from 'vitest'
import { Bench, settle, thenable } from '../receiver/support.ts'
import { tryForAMinute } from './for-a-minute.ts'

const SECRET = 'whsec_long'
const LIMIT = 3_000

/** Any value that JavaScript can throw, in a box that makes it anew. */
const thrown: fc.Arbitrary<() => unknown> = fc.oneof(
  fc
    .anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true, withTypedArray: true })
    .map((value) => () => value),
  fc.string().map((message) => () => new Error(message)),
)

const misbehaviour: fc.Arbitrary<() => unknown> = thrown.chain((box) =>
  fc.constantFrom<() => unknown>(
    () => {
      throw box()
    },
    () => Promise.reject(box()),
    async () => {
      await settle()
      throw box()
    },
    () => thenable((_resolve, reject) => reject(box())),
  ),
)

/** Cuts in a body, as positions from 0 to 1. */
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 })

function cut(bytes: Uint8Array, places: readonly number[]): readonly Uint8Array[] {
  const at = [0, ...places.map((place) => Math.round(place * bytes.length)).sort((a, b) => a - b), bytes.length]
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end))
}

describe('for a minute', { concurrent: false }, () => {
  it('thrown values', () =>
    tryForAMinute(
      'thrown values',
      fc.asyncProperty(misbehaviour, async (misbehave) => {
        const bench = new Bench()
        let runs = 0
        bench.receiver.on('*', { name: 'bad' }, () => (runs++ === 0 ? misbehave() : undefined))
        const event = events.syncCompleted()
        const deliver = async (): Promise<Outcome> => {
          const sent = bench.send(event)
          await bench.clock.advance(10_000)
          return sent
        }
        expect(await deliver()).toMatchObject({ outcome: 'failed', status: 500, code: 'handler_failed' })
        expect(await deliver()).toMatchObject({ outcome: 'handled' })
        expect(await deliver()).toMatchObject({ outcome: 'duplicate' })
        expect(runs).toBe(2)
        await bench.expectAtRest()
      }),
    ))

  it('chunkings over node:http', async () => {
    const seen: string[] = []
    const receiver = createReceiver({ secret: SECRET, logger: silentLogger, maxBodyBytes: LIMIT })
    receiver.on('*', (event) => void seen.push(event.id))
    const server = createServer(nodeHandler(receiver)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo // it listens on a port, not on a pipe
    try {
      await tryForAMinute(
        'chunkings over node:http',
        fc.asyncProperty(fc.nat({ max: 2 * LIMIT }), cuts, fc.boolean(), async (length, places, isDeclared) => {
          const event = { ...events.syncCompleted(), further: 'é'.repeat(length / 2) }
          const { body: bytes, headers } = signed(event, { secret: SECRET })
          const request = httpRequest({
            port,
            host: '127.0.0.1',
            method: 'POST',
            agent: false,
            headers: isDeclared ? { ...headers, 'content-length': bytes.length } : headers,
          })
          request.on('error', () => {}) // the answer came first, and the rest was cut
          for (const part of cut(bytes, places)) request.write(part)
          request.end()
          const [response] = await once(request, 'response')
          response.resume()
          const isRight = bytes.length <= LIMIT
          expect(response.statusCode).toBe(isRight ? 200 : 413)
          expect(seen.splice(0)).toEqual(isRight ? [event.id] : [])
        }),
      )
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  it('chunkings of a Fetch body', async () => {
    const seen: string[] = []
    const receiver = createReceiver({ secret: SECRET, logger: silentLogger, maxBodyBytes: LIMIT })
    receiver.on('*', (event) => void seen.push(event.id))
    const handle = fetchHandler(receiver)
    await tryForAMinute(
      'chunkings of a Fetch body',
      fc.asyncProperty(fc.nat({ max: 2 * LIMIT }), cuts, async (length, places) => {
        const event = { ...events.syncCompleted(), further: 'é'.repeat(length / 2) }
        const { body: bytes, headers } = signed(event, { secret: SECRET })
        const body = ReadableStream.from(cut(bytes, places))
        const init: RequestInit = { method: 'POST', headers, body, duplex: 'half' }
        const response = await handle(new Request('http://localhost/', init))
        const isRight = bytes.length <= LIMIT
        expect(response.status).toBe(isRight ? 200 : 413)
        expect(seen.splice(0)).toEqual(isRight ? [event.id] : [])
      }),
    )
  })

  it('ids and types', () => {
    const odd = fc.constantFrom(
      '__proto__',
      'constructor',
      'toString',
      '*',
      'a.*',
      'a.created',
      'a.b.c.created',
      'error',
    )
    const text = fc.oneof(odd, fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }))
    const name = fc.record({ id: text, type: text, accountKey: text })
    return tryForAMinute(
      'ids and types: each event once, to the handlers of its type',
      fc.asyncProperty(fc.array(name, { minLength: 1, maxLength: 8 }), async (names) => {
        const bench = new Bench()
        const seen: WebhookEvent<string, unknown>[] = []
        bench.receiver.on('*', (event) => void seen.push(event))
        const done = new Set<string>()
        const types: string[] = []
        // A record with an id fits every type, including those about records.
        const data = { record: { _id: '1' } }
        for (const { id, type, accountKey } of names) {
          const key = JSON.stringify([accountKey, id])
          const event = { id, type, timestamp: '2025-01-01T00:00:00Z', accountKey, data }
          const outcome = await bench.send(event)
          expect(outcome).toMatchObject({ outcome: done.has(key) ? 'duplicate' : 'handled', status: 200 })
          if (!done.has(key)) types.push(type)
          done.add(key)
        }
        expect(seen.map(({ type }) => type)).toEqual(types)
        await bench.expectAtRest()
      }),
    )
  })
})
