import { request as requestHttp } from 'node:http'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { call, pick, sink, start, until } from './support.ts'

describe('the control interface', () => {
  it('GET ready', async () => {
    const crm = await start()
    expect((await call(crm, 'GET /_emulator/ready')).json).toEqual({ type: 'ready', url: crm.url })
  })

  it('GET state contains everything, but no secret and no password', async () => {
    const crm = await start()
    const { secret } = crm.webhooks.create({ url: 'http://localhost/', events: ['sync.failed'] })
    const { text, json } = await call(crm, 'GET /_emulator/state')
    expect(json).toMatchObject({
      accounts: [{ key: 'acme' }, { key: 'globex' }],
      webhooks: [{ active: true }],
      assumed: { activeWhenOmitted: 'true' },
    })
    expect(text).not.toContain(secret)
    expect(text).not.toContain('password')
  })

  it('POST reset goes back to the accounts of the start', async () => {
    const crm = await start()
    const receiver = await sink(crm.clock, 500)
    crm.webhooks.create({ url: receiver.url, events: ['contact.created'] })
    crm.accounts.add({ key: 'extra', email: 'e@extra.test', password: 'x' })
    crm.records.create('contact')
    await crm.clock.advance(0)
    expect((await call(crm, 'POST /_emulator/reset', { body: {} })).status).toBe(200)
    await crm.clock.advance('24h')
    expect(receiver.received).toHaveLength(1)
    expect([crm.webhooks.list(), crm.deliveries.list(), crm.records.list('contact')]).toEqual([[], [], []])
    expect(crm.accounts.list().map(({ key }) => key)).toEqual(['acme', 'globex'])
  })

  it('GET and POST clock', async () => {
    const crm = await start({ clock: manualClock('2025-01-01T00:00:00Z') })
    const receiver = await sink(crm.clock, 500)
    crm.webhooks.create({ url: receiver.url, events: ['contact.created'] })
    crm.records.create('contact')
    const move = async (body: object) => (await call(crm, 'POST /_emulator/clock', { body })).json
    expect(await move({ advance: '10s' })).toMatchObject({
      now: '2025-01-01T00:00:10.000Z',
      nextDueAt: '2025-01-01T00:00:30.000Z',
    })
    expect(await move({ next: true })).toMatchObject({ moved: true, now: '2025-01-01T00:00:30.000Z' })
    expect(await move({ advance: 500 })).toMatchObject({ now: '2025-01-01T00:00:30.500Z', inFlight: 0 })
    expect((await call(crm, 'GET /_emulator/clock')).json).toMatchObject({
      isManual: true,
      nextDueAt: '2025-01-01T00:05:30.000Z',
    })
    for (const body of [
      {},
      { advance: 'soon' },
      { advance: -1 },
      { next: false },
      { advance: '1s', next: true },
      { advance: null },
    ])
      expect((await call(crm, 'POST /_emulator/clock', { body })).status).toBe(422)
  })

  it('POST accounts adds an account that can log in', async () => {
    const crm = await start()
    const body = { key: 'third', email: 'third@test', password: 'pw' }
    expect(await call(crm, 'POST /_emulator/accounts', { body })).toMatchObject({ status: 201, json: { key: 'third' } })
    expect((await call(crm, 'POST /_emulator/accounts', { body })).status).toBe(409)
    const { email, password } = body
    expect((await call(crm, 'POST /api/identity/auth/login', { body: { email, password } })).status).toBe(200)
  })

  it('events: passes data through, accepts id and timestamp, and counts', async () => {
    const crm = await start()
    const receiver = await sink()
    crm.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
    const data = { a: [1, 2.5, null, { deep: 'ä' }], __proto__x: true }
    const body = { type: 'sync.failed', data, id: 'evt_mine', timestamp: '2020-02-02T02:02:02Z', count: 3 }
    const { status, json } = await call(crm, 'POST /_emulator/events', { body })
    await crm.clock.advance(0)
    expect(status).toBe(202)
    expect(json).toMatchObject({ events: new Array(3).fill({ id: 'evt_mine', deliveries: [expect.any(String)] }) })
    expect(receiver.received.map(({ body: sent }) => JSON.parse(String(sent)))).toEqual(
      new Array(3).fill({
        id: 'evt_mine',
        type: 'sync.failed',
        timestamp: '2020-02-02T02:02:02Z',
        accountKey: 'acme',
        data,
      }),
    )
  })

  it('deliveries: shows the exact bytes, and resends', async () => {
    const crm = await start()
    const receiver = await sink()
    const { id: webhookId } = crm.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
    crm.events.emit({ type: 'sync.failed' })
    await crm.clock.advance(0)
    const list = await call(crm, `GET /_emulator/deliveries?webhookId=${webhookId}`)
    const path = `/_emulator/deliveries/${pick(list.json, 0, 'id')}`
    const { json } = await call(crm, `GET ${path}`)
    expect(Buffer.from(pick(json, 'body', 'base64'), 'base64')).toEqual(receiver.received[0]?.body)
    expect(pick(json, 'body', 'text')).toBe(String(receiver.received[0]?.body))
    expect(await call(crm, `POST ${path}/resend`, { body: { sign: 'none' } })).toMatchObject({
      status: 202,
      json: { signing: 'none' },
    })
    await crm.clock.advance(0)
    expect(receiver.received[1]?.headers).not.toHaveProperty('x-service-signature')
    expect((await call(crm, `POST ${path}/resend`, { body: { sign: 'twice' } })).status).toBe(422)
  })

  it('faults: reset cuts the connection, slow delays the answer', async () => {
    const crm = await start()
    const token = await crm.login()
    await call(crm, 'POST /_emulator/faults', { body: { answer: 'reset' } })
    await expect(call(crm, 'GET /api/sales/contacts', { token })).rejects.toThrow()
    await call(crm, 'POST /_emulator/faults', { body: { answer: 'slow', delayMs: 3_000 } })
    let isDone = false
    const slow = call(crm, 'GET /api/sales/contacts', { token }).then(({ status }) => {
      isDone = true
      return status
    })
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(isDone).toBe(false)
    await crm.clock.advance('3s')
    expect(await slow).toBe(200)
    await call(crm, 'POST /_emulator/faults', { body: { deliveries: { fail: 1 } } })
    expect((await call(crm, 'GET /_emulator/state')).json).toMatchObject({
      faults: { answers: [], deliveries: { fail: 1 } },
    })
    await expect(crm.fetch(new Request(`${crm.url}/api/sales/contacts`))).resolves.toMatchObject({ status: 401 })
  })

  it('limits logins by address, and starts again with a reset', async () => {
    const crm = await start({ loginRateLimit: '2/60s' })
    const body = { email: 'ada@acme.test', password: 'password' }
    const login = async () => (await call(crm, 'POST /api/identity/auth/login', { body })).status
    expect([await login(), await login(), await login()]).toEqual([200, 200, 429])
    await call(crm, 'POST /_emulator/reset', { body: {} })
    expect([await login(), await login(), await login()]).toEqual([200, 200, 429])
    await crm.clock.advance('60s')
    expect(await login()).toBe(200)
  })

  it('faults: a slow answer does not outlast the emulator', async () => {
    const clock = manualClock()
    const crm = await start({ clock })
    await call(crm, 'POST /_emulator/faults', { body: { answer: 'slow' } })
    const slow = crm.fetch(new Request(`${crm.url}/api/sales/contacts`))
    await until(() => clock.pending === 1)
    await crm.close()
    expect(clock.pending).toBe(0)
    expect((await slow).status).toBe(401)
  })

  it('stream reports events', async () => {
    const crm = await start()
    const receiver = await sink()
    const response = await fetch(`${crm.url}/_emulator/stream`)
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    let text = ''
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    const reading = (async () => {
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: '' }
        if (done) return
        text += value
      }
    })()
    await until(() => text.includes('event: ready'))
    crm.webhooks.create({ url: receiver.url, events: ['contact.created'] })
    crm.records.create('contact')
    await crm.clock.advance(0)
    await call(crm, 'GET /api/nothing')
    for (const type of ['webhook', 'delivery', 'attempt', 'clock', 'call'])
      await until(() => text.includes(`event: ${type}\n`))
    await reader?.cancel()
    await reading
  })
})

describe('who may call', () => {
  /** Sends a request with any head; fetch cannot set a custom `Host`. */
  const send = (url: string, method: string, headers: Readonly<Record<string, string>>, body = '') =>
    new Promise<{ status: number | undefined; headers: object }>((resolve, reject) => {
      requestHttp(url, { method, headers, agent: false }, (response) => {
        response.resume().on('end', () => resolve({ status: response.statusCode, headers: response.headers }))
      })
        .on('error', reject)
        .end(body)
    })

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    '',
  ])('a POST of type %j, as a page of another origin can send it, does nothing', async (type) => {
    const crm = await start()
    const receiver = await sink()
    crm.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
    for (const path of ['events', 'reset', 'faults', 'clock', 'accounts', 'records/contact']) {
      const { status } = await send(
        `${crm.url}/_emulator/${path}`,
        'POST',
        { 'content-type': type },
        '{"type":"sync.failed"}',
      )
      expect(status).toBe(415)
    }
    await crm.clock.advance(0)
    expect(receiver.received).toEqual([])
    expect(crm.webhooks.list()).toHaveLength(1)
  })

  it.each(['http://evil.test', 'null', 'http://localhost:1', 'https://127.0.0.1'])(
    'not a page at %s',
    async (origin) => {
      const crm = await start()
      for (const [method, path] of [
        ['GET', 'state'],
        ['POST', 'events'],
        ['DELETE', 'records/contact/x'],
        ['GET', 'stream'],
        ['OPTIONS', 'events'],
      ] as const) {
        const { status, headers } = await send(
          `${crm.url}/_emulator/${path}`,
          method,
          { origin, 'content-type': 'application/json' },
          method === 'POST' ? '{"type":"x.y"}' : '',
        )
        expect(status).toBe(403)
        expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
      }
      expect((await send(`${crm.url}/_emulator/state`, 'GET', { origin: crm.url })).status).toBe(200)
    },
  )

  it.each([
    'evil.test',
    'localhost.evil.test',
    '127.0.0.1.evil.test',
    'evil.test:80',
    '10.0.0.1',
    'localhost@evil.test',
  ])('not by the name %s, which may lead to loopback', async (host) => {
    const crm = await start()
    for (const path of ['/_emulator/state', '/api/identity/auth/login'])
      expect([400, 403]).toContain((await send(crm.url + path, 'GET', { host })).status)
  })

  it('by every name of loopback, and those that were allowed', async () => {
    const crm = await start({ hostAllow: ['Emulator'] })
    const { port } = new URL(crm.url)
    for (const host of ['localhost', `127.0.0.1:${port}`, `[::1]:${port}`, 'crm.localhost', 'emulator:4010'])
      expect((await send(`${crm.url}/_emulator/state`, 'GET', { host })).status).toBe(200)
  })
})
