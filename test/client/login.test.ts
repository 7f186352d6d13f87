import { describe, expect, it } from 'vitest'
import { tokenLifetime } from '../../src/client/session.ts'
import { WEBHOOK } from './replies.ts'
import { clientOf, EMAIL, failureOf, HastyClock, PASSWORD, type Reply, serve } from './support.ts'

/** Starts a service that answers the login so, and each call with a webhook. */
const serveLogin = (login: Parameters<typeof serve>[1]) => serve(() => ({ body: WEBHOOK }), login)

describe('the login', () => {
  it('is made once, no matter how many calls wait for it, and its token is kept', async () => {
    const service = await serve(() => ({ body: WEBHOOK }))
    const client = clientOf(service)
    await Promise.all(Array.from({ length: 20 }, () => client.webhooks.get('w1')))
    await client.webhooks.get('w1')
    expect(service.logins).toBe(1)
    expect(JSON.parse(service.seen[0]?.body ?? '')).toEqual({ email: EMAIL, password: PASSWORD })
    expect(service.seen[0]?.authorization).toBeUndefined()
    expect(new Set(service.seen.slice(1).map(({ authorization }) => authorization))).toEqual(
      new Set(['Bearer token-1']),
    )
  })

  it('is repeated once if many calls get 401', async () => {
    const service = await serve(({ authorization }) =>
      authorization === 'Bearer token-1' ? { status: 401 } : { body: WEBHOOK },
    )
    const client = clientOf(service)
    const webhooks = await Promise.all(Array.from({ length: 20 }, () => client.webhooks.get('w1')))
    expect(webhooks).toHaveLength(20)
    expect(service.logins).toBe(2)
  })

  it('is not repeated for ever if every token gets 401', async () => {
    const service = await serve(() => ({ status: 401, body: { message: 'no' } }))
    expect(await failureOf(clientOf(service).webhooks.get('w1'))).toMatchObject({ code: 'token_refused', attempts: 2 })
    expect(service.logins).toBe(2)
  })

  it.each([404, 405])('that fails by a wrong address is no wrong password: %d', async (status) => {
    const service = await serveLogin(() => ({ status }))
    const error = await failureOf(clientOf(service).webhooks.get('w1'))
    expect(error).toMatchObject({ code: 'service_unreachable', status, message: expect.stringMatching(/base URL/) })
  })

  it.each([401, 422])('that is refused with %d is reported, and not repeated', async (status) => {
    const service = await serveLogin(() => ({ status, body: { error: { message: `${PASSWORD} is wrong` } } }))
    const error = await failureOf(clientOf(service).webhooks.get('w1'))
    expect(error).toMatchObject({ code: 'login_refused', status, serviceMessage: '[redacted] is wrong' })
    expect(service.logins).toBe(1)
    expect(service.calls).toEqual([])
  })

  it('is repeated before the token expires, whatever the wall clock does', async () => {
    const service = await serve(() => ({ body: WEBHOOK }))
    const clock = new HastyClock()
    const client = clientOf(service, { clock })
    await client.webhooks.get('w1')
    clock.advance(58 * 60_000)
    clock.skewMs = 10 * 3_600_000
    await client.webhooks.get('w1')
    expect(service.logins).toBe(1)
    clock.skewMs = -10 * 3_600_000
    clock.advance(61_000)
    await client.webhooks.get('w1')
    expect(service.logins).toBe(2)
  })

  it.each<[string, unknown, number]>([
    ['an hour', 3_600, 3_540],
    ['a hundred seconds', 100, 90],
  ])(
    'is repeated shortly before the end of a life of %s, counted from the request',
    async (_life, expiresIn, renewed) => {
      const clock = new HastyClock()
      const service = await serveLogin(() => {
        if (service.logins === 1) clock.advance(5_000)
        return { body: { accessToken: `token-${service.logins}`, expiresIn } }
      })
      const client = clientOf(service, { clock })
      await client.webhooks.get('w1')
      clock.advance((renewed - 5) * 1_000 - 1)
      await client.webhooks.get('w1')
      expect(service.logins).toBe(1)
      clock.advance(1)
      await client.webhooks.get('w1')
      expect(service.logins).toBe(2)
      expect(service.seen.at(-1)?.authorization).toBe('Bearer token-2')
    },
  )

  it("is not repeated before a 401 if the service does not name the token's lifetime", async () => {
    const clock = new HastyClock()
    const service = await serveLogin(() => ({ body: { accessToken: 'opaque' } }))
    const client = clientOf(service, { clock })
    await client.webhooks.get('w1')
    clock.advance(10 * 24 * 3_600_000)
    await client.webhooks.get('w1')
    expect(service.logins).toBe(1)
  })

  it('is repeated by the next call after it has failed', async () => {
    const service = await serveLogin((_, count) => (count === 1 ? { status: 500 } : { body: { accessToken: 'a' } }))
    const client = clientOf(service, { maxRetries: 0 })
    expect(await failureOf(client.webhooks.get('w1'))).toMatchObject({ code: 'service_failed' })
    expect(await client.webhooks.get('w1')).toMatchObject({ id: 'w1' })
  })

  it.each<[string, Reply, string]>([
    ['no token', { body: { token_type: 'x' } }, 'answer_unusable'],
    ['an HTML page', { body: '<html>welcome</html>' }, 'answer_unusable'],
    ['a token of a wrong type', { body: { accessToken: 5 } }, 'answer_unusable'],
    ['a token with a line break', { body: { accessToken: 'a\r\nx-evil: 1' } }, 'answer_unusable'],
    ['nothing', { status: 204 }, 'answer_unusable'],
    ['a redirect', { status: 302, headers: { location: 'https://elsewhere.test/secret' } }, 'redirect_refused'],
  ])('that returns %s fails as %s', async (_what, reply, code) => {
    const service = await serveLogin(() => reply)
    expect(await failureOf(clientOf(service).webhooks.get('w1'))).toMatchObject({
      code,
      route: 'POST /api/identity/auth/login',
    })
  })

  it('accepts a wrapped answer and a lifetime as text', async () => {
    const service = await serveLogin(() => ({ body: { data: { accessToken: 'abc', expiresIn: '3600' } } }))
    await clientOf(service).webhooks.get('w1')
    expect(service.seen[1]?.authorization).toBe('Bearer abc')
  })
})

const NOW = Date.parse('2025-06-01T12:00:00Z')
const HOUR = 3_600_000
const SECONDS = NOW / 1_000

it.each<[string, number | undefined, number]>([
  ['seconds', 3_600, HOUR],
  ['milliseconds', 3_600_000, HOUR],
  ['seconds since 1970', SECONDS + 3_600, HOUR],
  ['milliseconds since 1970', NOW + HOUR, HOUR],
  ['a time that has passed', SECONDS - 3_600, Number.POSITIVE_INFINITY],
  ['a time that is now', SECONDS, Number.POSITIVE_INFINITY],
  ['nothing', undefined, Number.POSITIVE_INFINITY],
])('the lifetime of a token is read from %s', (_what, expiresIn, lifetime) => {
  expect(tokenLifetime(expiresIn, NOW)).toBe(lifetime)
})
