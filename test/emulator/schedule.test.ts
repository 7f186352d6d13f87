import { type Clock, createReceiver } from 'postern'
import type { Emulator } from 'postern/emulator'
import { nodeHandler } from 'postern/node'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { ADA, call, pick, quiet, serve, sink, start } from './support.ts'

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

  it('five failures, failed, then a manual retry that is handled once; the token expires on the way', async () => {
    const { crm, token, path, runs } = await receive(5)
    await call(crm, 'POST /_emulator/records/contact', { body: {} })
    await crm.clock.advance('2h35m30s')
    expect((await call(crm, `GET ${path}/deliveries`, { token })).status).toBe(401)
    const login = await call(crm, 'POST /api/identity/auth/login', { body: ADA })
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
