import { inspect } from 'node:util'
import { createClient } from 'postern/client'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { EMAIL, PASSWORD, type Reply, type Service, startService } from './support.ts'

const TOKEN = 'tok.4711.deadbeef/+=='
const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl'
const SECRET = 'whsec_hush'

let service: Service
afterEach(async () => {
  await service.close()
  vi.restoreAllMocks()
})

/** Returns everything that could be printed of a value. */
const printed = (value: unknown) =>
  [inspect(value, { depth: 20, showHidden: true, getters: true }), JSON.stringify(value), String(value)].join('\n')

function expectSilent(text: string, secrets: readonly string[] = [PASSWORD, TOKEN, SECRET]): void {
  const unescaped = text.replaceAll('\\', '')
  for (const secret of secrets)
    for (const form of [secret, encodeURIComponent(secret)]) expect(unescaped).not.toContain(form)
}

const echo = { message: `no: ${PASSWORD} ${TOKEN}`, sent: { password: PASSWORD, authorization: `Bearer ${TOKEN}` } }
const REPLIES: readonly (readonly [string, Reply])[] = [
  ['400 that repeats all', { status: 400, body: echo }],
  ['400 with JSON in its message', { status: 400, body: { message: `refused: ${JSON.stringify(echo)}` } }],
  ['401 that repeats all', { status: 401, body: JSON.stringify(echo) }],
  ['403 in a URL', { status: 403, body: `/login?p=${encodeURIComponent(PASSWORD)}&t=${encodeURIComponent(TOKEN)}` }],
  ['500', { status: 500, body: `${PASSWORD}${TOKEN} accessToken=${JWT}` }],
  ['a redirect', { status: 302, headers: { location: `https://${encodeURIComponent(TOKEN)}.test/${TOKEN}` } }],
  ['a dropped connection', (response) => response.socket?.destroy()],
  ['an answer without an id', { body: { secret: SECRET, accessToken: 5, echo } }],
  ['an answer that is no JSON', { body: `{"secret":"${SECRET}"` }],
]

describe('errors', () => {
  it.each(REPLIES)('of the login contain no secret: %s', async (_what, reply) => {
    service = await startService(
      () => ({}),
      () => reply,
    )
    const client = create()
    const error = await client.webhooks.list().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(Error)
    expectSilent(printed(error) + printed(client), [PASSWORD, SECRET, JWT]) // it never had the token
  })

  it.each(REPLIES)('of a call contain no secret: %s', async (_what, reply) => {
    service = await startService(
      () => reply,
      () => ({ body: { accessToken: TOKEN } }),
    )
    const client = create()
    for (const call of [
      () => client.webhooks.create(NEW),
      () => client.webhooks.get('w1'),
      () => client.retry('w1', 'd1'),
    ])
      expectSilent(printed(await call().catch((thrown: unknown) => thrown)) + printed(client))
  })

  it('have the password removed before their text is cut', async () => {
    service = await startService(() => ({ status: 400, body: 'x'.repeat(2_040) + PASSWORD }))
    const error = await create()
      .webhooks.get('w1')
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ body: expect.stringMatching(/^x{2040}\[redacte$/) })
  })

  it('of a custom fetch contain nothing but their message, without secrets', async () => {
    service = await startService(() => ({}))
    const failing = async (request: Request) => {
      const cause = Object.assign(new Error(`${TOKEN} refused`), { code: 'EODD' })
      throw Object.assign(new Error(`failed for ${PASSWORD}`, { cause }), { request, headers: [...request.headers] })
    }
    const error = await create({ fetch: failing })
      .webhooks.list()
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'service_unreachable', cause: { code: 'EODD' } })
    expect(printed(error)).not.toContain(PASSWORD)
  })
})

it('a new webhook has its secret in one place only', async () => {
  const raw = { _id: 'w1', secret: SECRET, signingSecret: SECRET, active: false }
  service = await startService(
    () => ({ body: { data: raw } }),
    () => ({ body: { accessToken: TOKEN } }),
  )
  const { webhook, secret } = await create().webhooks.create(NEW)
  expect(secret).toBe(SECRET)
  expectSilent(printed(webhook))
  expect(webhook.raw).toEqual({ _id: 'w1', active: false })
})

it('nothing goes to the console', async () => {
  const spies = (['log', 'info', 'warn', 'error', 'debug'] as const).map((name) => vi.spyOn(console, name))
  service = await startService(
    (_, count) => ({ status: count % 2 === 0 ? 500 : 429 }),
    () => ({ body: { accessToken: TOKEN } }),
  )
  await create()
    .webhooks.list()
    .catch(() => {})
  for (const spy of spies) expect(spy).not.toHaveBeenCalled()
})

const NEW = { url: 'https://app.example.test/hooks', events: ['contact.created'] }

function create(options: object = {}) {
  return createClient({
    baseUrl: service.url,
    email: EMAIL,
    password: PASSWORD,
    maxWaitMs: 100,
    maxRetries: 1,
    ...options,
  })
}
