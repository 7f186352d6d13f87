import { once } from 'node:events'
import { request } from 'node:http'
import { createEvents, type SignedDelivery, signed, type Tamper } from 'postern/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { makeNextApp, type NextApp, type NextServer } from '../support/next-app.ts'
import { readText } from '../support/repository.ts'

const SECRET = 'whsec_of_the_next_example'
const MIB = 1_048_576
const OVER_NEXTS_LIMIT = 12_000_000

const events = createEvents()
let app: NextApp
let server: NextServer

beforeAll(async () => {
  app = await makeNextApp()
  await app.build() // without a secret in its environment
  server = await app.start({ WEBHOOK_SECRET: SECRET })
})

afterAll(async () => {
  await server?.stop()
  await app?.remove()
})

interface Delivery extends SignedDelivery {
  readonly id: string
}

/** A signed event whose body has exactly that many bytes: spread over lines, and with characters of two bytes. */
function deliveryOf(bytes: number, tamper: Tamper = 'none'): Delivery {
  const event = events.contact.created()
  const toText = (notes: string) => JSON.stringify({ ...event, notes }, null, 2)
  const room = bytes - Buffer.byteLength(toText(''))
  const delivery = signed(toText('é'.repeat(room >> 1) + '.'.repeat(room & 1)), { secret: SECRET, tamper })
  expect(delivery.body.length).toBe(bytes)
  return { ...delivery, id: event.id }
}

interface Answer {
  readonly status: number
  readonly body: string
}

async function send(path: string, delivery: SignedDelivery, isChunked = false): Promise<Answer> {
  const { body: bytes, headers } = delivery
  const body = isChunked ? new Blob([bytes]).stream() : bytes
  try {
    const response = await fetch(server.url + path, { method: 'POST', headers, body, duplex: 'half' })
    return { status: response.status, body: await response.text() }
  } catch (error) {
    // On a busy machine, the answer to a body that is cut may be lost with its connection. The service would send it again.
    if (Object(error).cause?.code !== 'EPIPE') throw error
    return send(path, delivery, isChunked)
  }
}

/**
 * Returns the number of the handler's runs for an event. Its lines come in order: once a later event's line is there, so are all earlier
 * ones.
 */
async function runsOf(path: string, { id }: Delivery): Promise<number> {
  const last = deliveryOf(1_000)
  expect((await send(path, last)).status).toBe(200)
  await expect.poll(() => linesOf(last.id)).toBe(1)
  return linesOf(id)
}

function linesOf(id: string): number {
  return server.log().split(`handled contact.created ${id}\n`).length - 1
}

const handled = ({ id }: Delivery) => ({ status: 200, body: JSON.stringify({ code: 'handled', id }) })
const unauthorized = { status: 401, body: '{"code":"unauthorized"}' }
const tooLarge = { status: 413, body: '{"code":"body_too_large"}' }

describe.each([
  ['App Router', '/webhooks'],
  ['App Router, without the proxy file', '/webhooks/direct'],
  ['Pages Router', '/api/webhooks'],
])('%s', (_name, path) => {
  it.each([1_024, 16_384, 262_144, MIB - 1, MIB])('handles a body of %i bytes, once', async (bytes) => {
    const delivery = deliveryOf(bytes)
    expect(await send(path, delivery)).toEqual(handled(delivery))
    expect(await runsOf(path, delivery)).toBe(1)
  })

  it('handles a body of undeclared length', async () => {
    const delivery = deliveryOf(MIB - 1)
    expect(await send(path, delivery, true)).toEqual(handled(delivery))
    expect(await runsOf(path, delivery)).toBe(1)
  })

  it.each(['other-secret', 'flip-bit', 'no-header', 'short'] as const)(
    'refuses a forged delivery: %s',
    async (tamper) => {
      for (const bytes of [1_024, MIB - 1]) {
        const delivery = deliveryOf(bytes, tamper)
        expect(await send(path, delivery)).toEqual(unauthorized)
        expect(await runsOf(path, delivery)).toBe(0)
      }
    },
  )

  it('runs the handler once for 20 concurrent duplicates, and not again for a later one', async () => {
    const delivery = deliveryOf(2_000)
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(path, delivery)))
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(await send(path, delivery)).toEqual({
      status: 200,
      body: JSON.stringify({ code: 'duplicate', id: delivery.id }),
    })
    expect(await runsOf(path, delivery)).toBe(1)
  })

  // Correctly signed, so that only its size is wrong.
  it.each([
    [MIB + 1, 'declared', false],
    [MIB + 1, 'undeclared', true],
    [OVER_NEXTS_LIMIT, 'declared', false],
    [OVER_NEXTS_LIMIT, 'undeclared', true],
  ])('refuses a body of %i bytes, %s, and continues', async (bytes, _how, isChunked) => {
    const delivery = deliveryOf(bytes)
    expect(await send(path, delivery, isChunked)).toEqual(tooLarge)
    expect(await runsOf(path, delivery)).toBe(0)
  })

  it('accepts only POST', async () => {
    expect((await fetch(server.url + path)).status).toBe(405)
  })
})

describe('the Pages Router with its parser left on', () => {
  const path = '/api/webhooks-parsed'

  it.each([1_024, 262_144])('answers a signed body of %i bytes 500', async (bytes) => {
    const delivery = deliveryOf(bytes)
    expect(await send(path, delivery)).toEqual({ status: 500, body: '{"code":"body_consumed"}' })
    expect(await runsOf('/api/webhooks', delivery)).toBe(0)
  })

  it('names the fix in the log, once', () => {
    const fix =
      'Export this beside the handler: export const config = { api: { bodyParser: false } } {"code":"body_consumed"}'
    expect(server.log().split(fix)).toHaveLength(2)
  })

  it('leaves requests to Next that Next itself refuses', async () => {
    expect(await send(path, deliveryOf(OVER_NEXTS_LIMIT))).toEqual({ status: 413, body: 'Body exceeded 1mb limit' })
  })
})

/**
 * Next 16 reads the whole body of a request that its proxy file matches before the route runs, even if the route would refuse it by its
 * head. It keeps the first 10 MB and drops the rest; the route gets a body that ends there, and the only sign is a warning in Next's log
 * (vercel/next.js#84712). So the receiver's limit holds, but not early, and its deadline starts when the body is read.
 */
describe('the proxy file', () => {
  const warning = (path: string) => `Request body exceeded 10MB for ${path}. Only the first 10MB will be available`

  it('cuts bodies over 10 MB without an error, and only on the paths that it matches', async () => {
    for (const path of ['/webhooks', '/api/webhooks', '/webhooks/direct'])
      expect(await send(path, deliveryOf(OVER_NEXTS_LIMIT))).toEqual(tooLarge)
    await expect.poll(server.log).toContain(warning('/webhooks'))
    await expect.poll(server.log).toContain(warning('/api/webhooks'))
    expect(server.log()).not.toContain(warning('/webhooks/direct'))
  })

  it('waits for a sender that stalls, although the receiver would answer 408', async () => {
    const behind = stall('/webhooks')
    const direct = stall('/webhooks/direct')
    let isAnswered = false
    behind.once('response', () => {
      isAnswered = true
    })
    try {
      const [response] = await once(direct, 'response')
      expect(response.statusCode).toBe(408)
      expect(isAnswered).toBe(false)
    } finally {
      behind.destroy()
      direct.destroy()
    }
  })
})

/** A request whose body never ends. */
function stall(path: string) {
  const { headers } = deliveryOf(1_000)
  const stalled = request(server.url + path, { method: 'POST', headers: { ...headers, 'content-length': 1_000 } })
  stalled.on('error', () => {}) // it is destroyed in the end
  stalled.write('{')
  return stalled
}

it('has one memory for all routes of a router, and another for the other router', async () => {
  const delivery = deliveryOf(1_000)
  expect(await send('/webhooks', delivery)).toEqual(handled(delivery))
  expect((await send('/webhooks/direct', delivery)).body).toContain('duplicate')
  expect(await send('/api/webhooks', delivery)).toEqual(handled(delivery))
})

it('is built without a secret, and started without one reports it and answers 503', async () => {
  const bare = await app.start({})
  try {
    for (const path of ['/webhooks', '/api/webhooks']) {
      const response = await fetch(signed(events.contact.created(), { secret: SECRET }).request(bare.url + path))
      expect([response.status, await response.json()]).toEqual([503, { code: 'secrets_unavailable' }])
    }
    await expect.poll(bare.log).toContain('WEBHOOK_SECRET is not set')
  } finally {
    await bare.stop()
  }
})

it('has survived everything, and ends at SIGTERM', async () => {
  expect(server.isAlive()).toBe(true)
  expect(server.log()).not.toMatch(/unhandled|uncaught/i)
  expect(await server.stop()).toBe(143) // 128 and the number of SIGTERM: Next's own exit code
})

it('is locked to the dependencies of the package, whatever its checksum', () => {
  const { packages } = JSON.parse(readText('examples/next/package-lock.json'))
  const { dependencies, resolved, integrity } = packages['node_modules/postern']
  expect({ dependencies, resolved, integrity }).toEqual({
    dependencies: packageJson.dependencies,
    resolved: 'file:postern.tgz',
    integrity: undefined,
  })
})
