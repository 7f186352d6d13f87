import { request as requestHttp } from 'node:http'
import { Hono, type MiddlewareHandler } from 'hono'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Env } from '../../src/emulator/http/env.ts'
import { guardHost, guardOrigin, limitBody } from '../../src/emulator/http/guards.ts'
import { listen, stop, urlOf } from '../../src/emulator/http/listen.ts'
import { Refusal } from '../../src/emulator/refusal.ts'

function makeApp(guard: MiddlewareHandler<Env>): Hono<Env> {
  const app = new Hono<Env>()
  app.use(guard)
  app.all('/', async (c) => c.text(`passed ${await c.req.text()}`))
  app.onError((error, c) => c.text(error instanceof Refusal ? `${error.kind}: ${error.message}` : String(error)))
  return app
}

/** Returns the answer of a route behind a guard: the body of the request if it passed, or the refusal. */
async function pass(
  guard: MiddlewareHandler<Env>,
  headers: Readonly<Record<string, string>>,
  body?: string | ReadableStream,
) {
  const app = makeApp(guard)
  const method = body === undefined ? 'GET' : 'POST'
  const init = { method, headers, body: body ?? null, duplex: 'half' } as RequestInit // of Node
  return (await app.request(new Request('http://localhost:4010/', init))).text()
}

describe('the guard of the host', () => {
  it.each([
    ...['localhost', 'LOCALHOST', 'localhost:4010', 'crm.localhost', 'a-1.localhost:80', '127.0.0.1', '127.1.22.255:9'],
    ...['[::1]', '[::1]:4010', 'crm', 'CRM:4010', 'my.proxy'],
  ])('lets %s pass: a name of loopback, or an allowed one', async (host) => {
    expect(await pass(guardHost(['Crm', 'my.proxy']), { host })).toBe('passed ')
  })

  it.each([
    ...[
      'evil.test',
      'localhost.evil.test',
      'localhostx',
      'xlocalhost',
      'a.b.localhost',
      '.localhost',
      '127.0.0.1.evil.test',
    ],
    ...[
      'x127.0.0.1',
      '127.0.0',
      '127.0.0.1.1',
      '127.0.0.1000',
      '128.0.0.1',
      '10.0.0.1',
      '[::2]',
      '::1',
      'x[::1]',
      '[::1]x',
    ],
    ...[
      'localhost:',
      'localhost:x',
      'localhost:80x',
      'localhost:99999',
      'crm2',
      'proxy',
      'evil.test:80',
      '127a0b0c1',
      '',
    ],
  ])('refuses %j, with the fix', async (host) => {
    expect(await pass(guardHost(['crm', 'my.proxy']), { host })).toBe(
      `forbidden: this server does not answer to the name ${JSON.stringify(host)}; allow it with hostAllow, or --host-allow`,
    )
  })

  it('lets a request without the header pass, and names another fix if it was given one', async () => {
    expect(await pass(guardHost([]), {})).toBe('passed ')
    expect(await pass(guardHost([], 'start it otherwise'), { host: 'crm' })).toMatch(/; start it otherwise$/)
  })
})

describe('the guard of the origin', () => {
  it.each<Readonly<Record<string, string>>>([
    {},
    { origin: 'http://localhost:4010' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'same-origin' },
    { origin: 'http://localhost:4010', 'sec-fetch-site': 'same-origin' },
  ])('lets the page of the server and programs pass: %j', async (headers) => {
    expect(await pass(guardOrigin(), headers)).toBe('passed ')
  })

  it.each<Readonly<Record<string, string>>>([
    { origin: 'http://evil.test' },
    { origin: 'null' },
    { origin: 'http://localhost:1' },
    { origin: 'https://localhost:4010' },
    { origin: 'http://evil.test', 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'http://localhost:4010', 'sec-fetch-site': 'cross-site' },
  ])('refuses other pages: %j', async (headers) => {
    expect(await pass(guardOrigin(), headers)).toMatch(/^forbidden: requests of pages at .* are refused$/)
  })
})

describe('the limit of bodies', () => {
  const LIMIT = 1_024 * 1_024
  const inParts = (size: number) => new Blob([new Uint8Array(size).fill(120)]).stream()

  it.each([
    ['declared', (size: number) => 'x'.repeat(size), (size: number) => ({ 'content-length': String(size) })],
    ['in chunks', inParts, () => ({ 'transfer-encoding': 'chunked' })],
  ] as const)('is 1 MiB, and not a byte more: %s', async (_how, makeBody, headersOf) => {
    expect((await pass(limitBody(), headersOf(LIMIT), makeBody(LIMIT))).length).toBe('passed '.length + LIMIT)
    expect(await pass(limitBody(), headersOf(LIMIT + 1), makeBody(LIMIT + 1))).toBe(
      'too-large: a body has 1048576 bytes at most',
    )
  })

  describe('over a socket', () => {
    /** Sends a body in two parts, with any method. */
    async function send(method: string, size: number, headers: Readonly<Record<string, string>>): Promise<string> {
      const server = await listen(makeApp(limitBody()).fetch, { port: 0, host: '127.0.0.1', owner: 'The test' })
      onTestFinished(() => stop(server))
      return new Promise((resolve, reject) => {
        const request = requestHttp(urlOf(server, '127.0.0.1'), { method, headers, agent: false }, (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (part) => {
            text += part
          })
          response.on('end', () => resolve(text))
        })
        request.on('error', reject)
        request.write('x'.repeat(size >> 1))
        request.end('x'.repeat(size - (size >> 1)))
      })
    }

    it.each([
      ['declared', (size: number) => ({ 'content-length': String(size) })],
      ['in chunks', () => ({ 'transfer-encoding': 'chunked' })],
    ] as const)('is the same: %s', async (_how, headersOf) => {
      expect((await send('POST', LIMIT, headersOf(LIMIT))).length).toBe('passed '.length + LIMIT)
      expect(await send('POST', LIMIT + 1, headersOf(LIMIT + 1))).toBe('too-large: a body has 1048576 bytes at most')
      expect(await send('POST', 1, headersOf(1))).toBe('passed x')
    })

    it('lets a request without a body pass', async () => {
      expect(await send('GET', 0, {})).toBe('passed ')
      expect(await send('POST', 0, { 'content-length': '0' })).toBe('passed ')
    })

    it('does not look at the body of a TRACE, which no route reads', async () => {
      expect(await send('TRACE', 1, { 'content-length': '1' })).not.toContain('Error')
    })
  })
})
