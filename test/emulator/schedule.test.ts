import { type Clock, createReceiver, verify } from 'postern'
import type { Emulator } from 'postern/emulator'
import { nodeHandler } from 'postern/node'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { call, pick, quiet, serve, sink, start } from './support.ts'

describe('the schedule, on the manual clock', () => {
  it('is also the time of the answers', async () => {
    const crm = await start()
    await crm.clock.advance('3h')
    const { headers } = await call(crm, 'GET /api/sales/contacts')
    expect(headers.get('date')).toBe(new Date(crm.clock.now()).toUTCString())
  })

  it('makes five attempts at 0, 30, 330, 2130 and 9330 s, all with the same bytes, then marks the delivery as failed', async () => {
    const crm = await start()
    const receiver = await sink(crm.clock, 500)
    const { id: webhookId, secret } = crm.webhooks.create({ url: receiver.url, events: ['contact.created'] })
    const begin = crm.clock.now()
    crm.records.create('contact', { firstName: 'Zoë' })
    await crm.clock.advance('2h35m30s')
    expect(receiver.received.map(({ at }) => (at - begin) / 1_000)).toEqual([0, 30, 330, 2_130, 9_330])
    expect(new Set(receiver.received.map(({ body }) => body.toString())).size).toBe(1)
    for (const { body, headers } of receiver.received)
      expect(verify(body, headers['x-service-signature'], secret)).toBe(true)
    expect(crm.deliveries.list({ webhookId }).map(({ status }) => status)).toEqual(['failed'])
    await crm.clock.advance('24h')
    expect(receiver.received).toHaveLength(5)
  })

  it('jumps to the next attempt, and reports when there is none', async () => {
    const crm = await start()
    const receiver = await sink(crm.clock, 503, 200)
    crm.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
    expect(await crm.clock.next()).toBe(false)
    const begin = crm.clock.now()
    crm.events.emit({ type: 'sync.failed' })
    expect(await crm.clock.next()).toBe(true)
    expect(crm.clock.now() - begin).toBe(30_000)
    expect(await crm.clock.next()).toBe(false)
    expect(receiver.received).toHaveLength(2)
  })

  it('jumps from one attempt to the next if two jumps are requested together', async () => {
    const crm = await start()
    const receiver = await sink(crm.clock, 503)
    crm.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
    const begin = crm.clock.now()
    crm.events.emit({ type: 'sync.failed' })
    expect(await Promise.all([crm.clock.next(), crm.clock.next(), crm.clock.advance('1s')])).toEqual([
      true,
      true,
      undefined,
    ])
    expect(receiver.received.map(({ at }) => at - begin)).toEqual([0, 30_000, 330_000])
    expect(crm.clock.now() - begin).toBe(331_000)
  })

  it.each([
    ['held', false, 0],
    ['counted', true, 30_000],
    ['dropped', true, 30_000],
  ] as const)(
    'jumps over attempts that a pause holds, and to those that it ends: %s (A32)',
    async (A32, moved, byMs) => {
      const crm = await start({ assume: { A32 } })
      const receiver = await sink(crm.clock, 503)
      const paused = crm.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
      crm.events.emit({ type: 'sync.failed' })
      await crm.clock.advance(0)
      crm.webhooks.pause(paused.id)
      const begin = crm.clock.now()
      expect(await crm.clock.next()).toBe(moved)
      expect(crm.clock.now() - begin).toBe(byMs)
      crm.webhooks.create({ url: receiver.url, events: ['sync.completed'] })
      crm.events.emit({ type: 'sync.completed' })
      await crm.clock.next()
      expect(receiver.received.map(({ at }) => at - begin)).toEqual([0, byMs, byMs + 30_000].toSpliced(3))
    },
  )

  it('counts an attempt as failed if no answer came within 10 s, and needs no real time for that', async () => {
    const crm = await start()
    const receiver = await sink(crm.clock, 0, 200)
    crm.webhooks.create({ url: receiver.url, events: ['contact.created'] })
    crm.records.create('contact')
    await crm.clock.advance('10s')
    const [delivery] = crm.deliveries.list()
    expect(delivery?.attempts).toMatchObject([{ failure: 'timeout', status: undefined, durationMs: 10_000 }])
    // The delay counts from the end of the attempt (A36).
    await crm.clock.advance('29s')
    expect(receiver.received).toHaveLength(1)
    await crm.clock.advance('1s')
    expect(delivery).toMatchObject({ status: 'success', nextAttemptAt: undefined })
  })
})

describe('the manual clock', () => {
  const state = async (crm: Emulator) => Object((await call(crm, 'GET /_emulator/clock')).json)

  it('goes 300 years ahead, and all answers continue', async () => {
    const crm = await start()
    const receiver = await sink(crm.clock, 500)
    crm.webhooks.create({ url: receiver.url, events: ['contact.created'] })
    crm.records.create('contact')
    const body = { advance: `${300 * 365}d` }
    expect((await call(crm, 'POST /_emulator/clock', { body })).status).toBe(200)
    expect((await state(crm)).now).toMatch(/^23\d\d-/)
    expect((await call(crm, 'GET /_emulator/state')).status).toBe(200)
    expect((await call(crm, 'GET /_emulator/deliveries')).json).toMatchObject([{ status: 'failed' }])
  })

  it.each<[string | number, string]>([
    ['9000000d', 'a time after the year 9999'],
    [8.64e15, 'more than a date holds'],
    ['9'.repeat(400).concat('d'), 'more than a number holds'],
  ])('refuses to go past the year 9999 and does not move: %s, %s', async (advance) => {
    const crm = await start()
    const receiver = await sink(crm.clock, 500)
    crm.webhooks.create({ url: receiver.url, events: ['contact.created'] })
    crm.records.create('contact')
    await crm.clock.advance(0)
    const before = await state(crm)
    const refused = await call(crm, 'POST /_emulator/clock', { body: { advance } })
    expect(refused).toMatchObject({
      status: 422,
      json: { message: expect.stringContaining('9999-12-31T23:59:59.999Z') },
    })
    expect(await state(crm)).toEqual(before)
    expect(receiver.received).toHaveLength(1)
    await expect(crm.clock.advance(advance)).rejects.toMatchObject({ code: 'emulator_refused' })
  })

  it('accepts its last millisecond, and not the next', async () => {
    const crm = await start()
    await crm.clock.advance(Date.UTC(9999, 11, 31, 23, 59, 59, 999) - crm.clock.now())
    expect((await state(crm)).now).toBe('9999-12-31T23:59:59.999Z')
    await expect(crm.clock.advance(1)).rejects.toMatchObject({ code: 'emulator_refused' })
    expect(await crm.clock.next()).toBe(false)
  })

  it('sets no timer that a host would fire immediately, no matter how slow the schedule is', async () => {
    const clock = manualClock(0)
    const waits: number[] = []
    const setTimeout = (callback: () => void, ms: number) => {
      waits.push(ms)
      return clock.setTimeout(callback, ms)
    }
    const watched: Clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      clearTimeout: (timer) => clock.clearTimeout(timer),
      setTimeout,
    }
    const crm = await start({ clock: watched, retryScale: 0.001 })
    crm.webhooks.create({ url: (await sink(clock, 500)).url, events: ['sync.failed'] })
    crm.events.emit({ type: 'sync.failed' })
    for (const step of [0, 30, 300, 1_800, 7_200]) {
      await clock.advance(step * 1_000_000)
      await crm.deliveries.whenIdle()
    }
    expect(crm.deliveries.list()[0]?.attempts.map(({ at }) => at / 1_000_000)).toEqual([0, 30, 330, 2_130, 9_330])
    expect(Math.max(...waits)).toBe(2_147_483_647)
  })

  it('counts moves together that were requested at the same time', async () => {
    const crm = await start()
    const begin = crm.clock.now()
    const most = Date.UTC(9999, 11, 31, 23, 59, 59, 999) - begin
    const moves = [crm.clock.advance(most - 1), crm.clock.advance(2), crm.clock.advance(1)]
    expect((await Promise.allSettled(moves)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect(crm.clock.now() - begin).toBe(most)
  })
})

describe('end to end, over sockets', () => {
  const receive = async (failures: number) => {
    const crm = await start()
    let secret = ''
    let runs = 0
    const receiver = createReceiver({
      secret: () => secret,
      clock: crm.clock,
      logger: { ...quiet, error() {} },
    })
    receiver.on('contact.*', () => {
      runs++
      if (runs <= failures) throw new Error('down')
    })
    const { url } = await serve(nodeHandler(receiver))
    const token = await crm.login()
    const made = await call(crm, 'POST /api/integrations/webhooks', {
      token,
      body: { url, events: ['contact.created'] },
    })
    secret = pick(made.json, 'secret')
    return { crm, token, path: `/api/integrations/webhooks/${pick(made.json, '_id')}`, runs: () => runs }
  }

  it('record change, signed delivery, receiver, handler: two failures, and success at attempt 3', async () => {
    const { crm, token, path, runs } = await receive(2)
    await call(crm, 'POST /_emulator/records/contact', { body: { email: 'zoe@example.test' } })
    await crm.clock.advance('5m30s')
    expect(runs()).toBe(3)
    const { json } = await call(crm, `GET ${path}/deliveries`, { token })
    const attemptLog = [500, 500, 200].map((responseStatus) => ({ responseStatus }))
    expect(json).toMatchObject([{ status: 'success', attempts: 3, responseStatus: 200, attemptLog }])
  })

  it('five failures, failed, then a manual retry that is handled once; the token expires on the way', async () => {
    const { crm, token, path, runs } = await receive(5)
    await call(crm, 'POST /_emulator/records/contact', { body: {} })
    await crm.clock.advance('2h35m30s')
    expect((await call(crm, `GET ${path}/deliveries`, { token })).status).toBe(401)
    const login = await call(crm, 'POST /api/identity/auth/login', {
      body: { email: 'ada@acme.test', password: 'password' },
    })
    const fresh = pick(login.json, 'accessToken')
    const failed = await call(crm, `GET ${path}/deliveries`, { token: fresh })
    expect(failed.json).toMatchObject([{ status: 'failed', attempts: 5 }])
    const retried = await call(crm, `POST ${path}/retry/${pick(failed.json, 0, '_id')}`, { token: fresh })
    expect(retried).toMatchObject({ status: 202, json: { status: 'pending' } })
    await crm.clock.advance(0)
    expect((await call(crm, `GET ${path}/deliveries`, { token: fresh })).json).toMatchObject([
      { status: 'success', attempts: 6 },
    ])
    expect(runs()).toBe(6)
  })
})
