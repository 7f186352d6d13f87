import type { Clock } from 'postern'
import type { Emulator } from 'postern/emulator'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { call, sink, start } from './support.ts'

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
