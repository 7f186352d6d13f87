import { Hono, type MiddlewareHandler } from 'hono'
import { describe, expect, it } from 'vitest'
import type { Env } from '../../tools/emulator/http/env.ts'
import { guardHost, guardOrigin } from '../../tools/emulator/http/guards.ts'
import { Refusal } from '../../tools/emulator/refusal.ts'

/** Returns the answer of a route behind a guard: that the request passed, or the refusal. */
async function pass(guard: MiddlewareHandler<Env>, headers: Readonly<Record<string, string>>): Promise<string> {
  const app = new Hono<Env>()
  app.use(guard)
  app.all('/', (c) => c.text('passed'))
  app.onError((error, c) => c.text(error instanceof Refusal ? `${error.kind}: ${error.message}` : String(error)))
  return (await app.request(new Request('http://localhost:4010/', { headers }))).text()
}

describe('the guard of the host', () => {
  it.each([
    ...['localhost', 'LOCALHOST', 'localhost:4010', 'crm.localhost', 'a-1.localhost:80', '127.0.0.1', '127.1.22.255:9'],
    ...['[::1]', '[::1]:4010', 'crm', 'CRM:4010', 'my.proxy'],
  ])('lets %s pass: a name of loopback, or an allowed one', async (host) => {
    expect(await pass(guardHost(['Crm', 'my.proxy']), { host })).toBe('passed')
  })

  it.each([
    ...['evil.test', 'localhost.evil.test', 'localhostx', 'xlocalhost', 'a.b.localhost', '.localhost', 'crm2'],
    ...['127.0.0.1.evil.test', 'x127.0.0.1', '127.0.0', '127.0.0.1000', '128.0.0.1', '127a0b0c1', '[::2]', '::1'],
    ...['x[::1]', '[::1]x', 'localhost:', 'localhost:x', 'localhost:80x', 'localhost:99999', ''],
  ])('refuses %j, with the fix', async (host) => {
    expect(await pass(guardHost(['crm', 'my.proxy']), { host })).toBe(
      `forbidden: this server does not answer to the name ${JSON.stringify(host)}; allow it with hostAllow, or --host-allow`,
    )
  })

  it('lets a request without the header pass, and names another fix if it was given one', async () => {
    expect(await pass(guardHost([]), {})).toBe('passed')
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
    expect(await pass(guardOrigin(), headers)).toBe('passed')
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
