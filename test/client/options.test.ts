import { type Client, type ClientOptions, createClient } from 'postern/client'
import { startEmulator } from 'postern/emulator'
import { silentLogger } from 'postern/testing'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { clientOf, EMAIL, PASSWORD, serve } from './support.ts'

const GOOD = { baseUrl: 'https://crm.example.test', email: EMAIL, password: PASSWORD }
const create = (options: object) => createClient({ ...GOOD, ...options } as ClientOptions) // wrong on purpose

describe('options', () => {
  it.each<object>([
    {},
    { baseUrl: new URL('https://crm.example.test/v1') },
    { baseUrl: 'http://127.0.0.1:4010' },
    { baseUrl: 'http://crm.example.test', allowHttp: true },
    { timeoutMs: 100, maxRetries: 0, maxWaitMs: 100 },
  ])('are accepted: %j', (options) => {
    expect(() => create(options)).not.toThrow()
  })

  it('accept the address of an emulator that listens on no port', async () => {
    await using crm = await startEmulator({ port: false, logger: silentLogger })
    const client = create({ baseUrl: crm.url, password: 'password', fetch: crm.fetch })
    expect(await client.webhooks.list()).toEqual([])
  })

  it.each<[object, string]>([
    [{ baseUrl: undefined }, 'baseUrl is not given'],
    [{ baseUrl: '' }, 'baseUrl is not a string, empty, or not filled in'],
    [{ baseUrl: 'crm.example.test' }, 'baseUrl is not an absolute URL'],
    [{ baseUrl: 'localhost:4010' }, 'baseUrl is not an absolute URL. Give http://localhost:4010/.'],
    [{ baseUrl: 'crm.example.test:4010' }, 'baseUrl is not an absolute URL. Give one such as https://crm'],
    [{ baseUrl: 'ftp://crm.example.test' }, 'baseUrl has to be https'],
    [{ baseUrl: 'http://crm.example.test' }, 'baseUrl is http'],
    [{ baseUrl: 'http://127.0.0.1.example.test' }, 'baseUrl is http'],
    [{ baseUrl: `https://ada:${encodeURIComponent(PASSWORD)}@crm.example.test` }, 'baseUrl has credentials in it'],
    [{ baseUrl: 'https://crm.example.test/?a=1' }, 'baseUrl has a query'],
    [{ password: ' ' }, 'password is not a string, empty, or not filled in'],
    [{ email: '\u0024{EMAIL}' }, 'email is not a string, empty, or not filled in'],
    [{ timeoutMs: 600_001 }, 'timeoutMs is 600001; give'],
    [{ maxRetries: -1 }, 'maxRetries is -1; give'],
    [{ timeoutMs: 99 }, 'timeoutMs is 99; give a whole number of milliseconds from 100 to 600000'],
  ])('are refused with the mistake: %j', (options, message) => {
    expect(() => create(options)).toThrow(expect.objectContaining({ code: 'option_invalid' }))
    expect(() => create(options)).toThrow(message)
  })

  it('keep a path of the base URL', async () => {
    const service = await serve(
      () => ({ status: 404 }),
      ({ path }) => ({ status: 403, body: path }),
    )
    await clientOf({ url: `${service.url}/crm/v1` })
      .webhooks.list()
      .catch(() => {})
    expect(service.seen[0]?.path).toBe('/crm/v1/api/identity/auth/login')
  })
})

describe('arguments of calls', () => {
  const warn = vi.fn()
  const logger = { ...silentLogger, warn }
  const fetch = async (request: Request) =>
    request.url.endsWith('/login')
      ? Response.json({ accessToken: 'a' })
      : Response.json({ _id: 'w1', active: true, secret: 'whsec_1' })
  let client: Client
  beforeEach(() => {
    client = create({ fetch, logger })
  })
  const url = 'https://app.example.test/hooks'

  it.each<[string, () => unknown]>([
    ['an empty id', () => client.webhooks.delete('')],
    ['no events', () => client.webhooks.create({ url, events: [] })],
    ['an empty event type beside another', () => client.webhooks.create({ url, events: ['sync.failed', ''] })],
    ['a relative URL of an update', () => client.webhooks.update('w1', { url: '/hooks' })],
    ['an empty event type', () => client.webhooks.update('w1', { events: [''] })],
    ['a relative URL', () => client.webhooks.create({ url: '/hooks', events: ['contact.created'] })],
  ])('are refused before anything is sent: %s', async (_what, call) => {
    await expect(async () => call()).rejects.toMatchObject({ code: 'option_invalid' })
  })

  it('are one segment of the path', async () => {
    const asked: string[] = []
    const spy = create({
      fetch: (request: Request) => {
        asked.push(new URL(request.url).pathname)
        return fetch(request)
      },
    })
    await spy.webhooks.get('a/../b?c#d%2f')
    expect(asked[1]).toBe('/api/integrations/webhooks/a%2F..%2Fb%3Fc%23d%252f')
  })

  it.each([
    [['invoice.paid'], ['invoice.paid']],
    [
      ['contact.created', 'contact.*', '*'],
      ['contact.*', '*'],
    ],
    [['contact.created', 'finance.payment.failed', 'sync.completed'], undefined],
  ])('cause a warning if a type is not documented: %j', async (events, types) => {
    warn.mockClear()
    await client.webhooks.create({ url, events })
    if (types === undefined) expect(warn).not.toHaveBeenCalled()
    else expect(warn).toHaveBeenCalledWith({ types }, expect.stringContaining('not documented'))
  })
})
