import { events, type ManualClock, manualClock } from 'postern/testing'
import { describe, expect, it, vi } from 'vitest'
import { Gate } from '../support/gate.ts'
import {
  answeringAfter,
  Bench,
  counting,
  delayedBy,
  gated,
  raise,
  rejecting,
  saying,
  soon,
  throwing,
  watchRejections,
} from './support.ts'

watchRejections()

const lasting = (options = {}) => gated({ handlerTimeoutMs: 600_000, ...options })

/** The clock of an event loop that is blocked by other work for a while. */
function lateClock(): ManualClock {
  const clock = manualClock()
  const { setTimeout } = clock
  return Object.assign(clock, {
    setTimeout: (callback: () => void, ms: number) => setTimeout.call(clock, callback, ms + 60),
  })
}

const renewalsOf = (bench: Bench) => bench.store.calls.filter(({ method }) => method === 'renew').map(({ at }) => at)

describe('a claim is renewed', () => {
  it('with the marks that were made since then', async () => {
    const { bench, gate } = lasting()
    const quick = new Gate<unknown>()
    bench.receiver.on('contact.created', { name: 'quick' }, () => quick.promise)
    bench.receiver.on('*', { name: 'at-once' }, () => {})
    bench.send(events.contact.created())
    await bench.clock.advance(6_000)
    quick.open(undefined)
    await bench.clock.advance(5_000)
    expect(bench.store.marksOf('renew')).toEqual([['at-once'], ['quick', 'at-once']])
    gate.open(undefined)
    await bench.clock.advance(0)
  })

  it('at each third of its time, soon after a failure while it holds, and without haste afterwards, and one failure is reported', async () => {
    const { bench, gate, signals } = lasting()
    void bench.send(events.contact.created())
    await bench.clock.advance(21_000)
    bench.store.usual = rejecting
    await bench.clock.advance(60_000)
    // Renewed last at 20 s, for 15 s.
    expect(renewalsOf(bench).slice(0, 8)).toEqual([5_000, 10_000, 15_000, 20_000, 25_000, 25_500, 26_000, 26_500])
    expect(renewalsOf(bench).filter((at) => at > 35_000)).toEqual([
      40_000, 45_000, 50_000, 55_000, 60_000, 65_000, 70_000, 75_000, 80_000,
    ])
    expect(bench.codes).toEqual(['store_unavailable'])
    expect(signals[0]?.aborted).toBe(false)
    bench.store.usual = soon
    gate.open(undefined)
    await bench.clock.advance(60_000)
  })

  it('sooner after a failure if it is short', async () => {
    const { bench, gate } = lasting({ leaseMs: 2_000 })
    void bench.send(events.contact.created())
    bench.store.plan('renew', throwing, rejecting)
    await bench.clock.advance(1_200)
    expect(renewalsOf(bench).map(Math.round)).toEqual([667, 867, 1_067])
    gate.open(undefined)
    await bench.clock.advance(10_000)
  })

  it('in time on an event loop that is 60 ms late, after an outage of 9.5 s', async () => {
    const { bench, gate, signals } = lasting({ clock: lateClock() })
    const sent = bench.send(events.contact.created())
    await bench.clock.advance(4_900)
    bench.store.usual = rejecting
    await bench.clock.advance(9_500)
    expect(renewalsOf(bench).slice(0, 3)).toEqual([5_060, 5_620, 6_180])
    bench.store.usual = soon
    await bench.clock.advance(600)
    expect(renewalsOf(bench).filter((at) => at > 14_400)).toEqual([14_580]) // before the claim ends at 15 s
    await bench.clock.advance(5_000)
    expect(signals[0]?.aborted).toBe(false)
    gate.open(undefined)
    await bench.clock.advance(1_000)
    await sent
  })
})

it('a lease is not used if it has half expired when the claim arrives', async () => {
  const { bench, runs } = counting({ leaseMs: 2_000 })
  bench.store.plan('claim', answeringAfter(1_500))
  expect(await bench.sendFor(2_000, events.contact.created())).toMatchObject({
    status: 503,
    code: 'store_unavailable',
  })
  expect([runs(), bench.store.count('release')]).toEqual([0, 1])
})

it('reports a handler that failed while another one was given up, whose claim without marks may expire', async () => {
  const bench = new Bench({ handlerTimeoutMs: 1_000 })
  bench.receiver.on('*', { name: 'hangs' }, () => new Promise(() => {}))
  bench.receiver.on('*', { name: 'fails' }, raise(new Error('no')))
  expect(await bench.sendFor(6_000, events.contact.created())).toMatchObject({ code: 'handler_abandoned' })
  expect(bench.errors).toMatchObject([
    { code: 'handler_timeout', handlers: ['hangs'] },
    { code: 'handler_failed', handlers: ['fails'] },
    { code: 'handler_abandoned', handlers: ['hangs'] },
  ])
  expect(renewalsOf(bench)).toEqual([5_000]) // another one would keep the next attempt waiting
})

describe('a claim that another process has taken', () => {
  it('is told if the store says so at the release', async () => {
    const bench = new Bench()
    bench.store.plan('release', saying(false))
    bench.receiver.on('*', () => Promise.reject(new Error('mine')))
    expect(await bench.send(events.contact.created())).toMatchObject({ status: 500, code: 'handler_failed' })
    expect(bench.codes).toEqual(['handler_failed', 'lease_lost'])
  })

  it('is left alone if the store says so at the completion', async () => {
    const { bench } = counting()
    bench.store.plan('complete', saying(false))
    expect(await bench.send(events.contact.created())).toMatchObject({ status: 503, code: 'lease_lost' })
    expect(bench.store.calls.map(({ method }) => method)).toEqual(['claim', 'complete'])
  })

  it('aborts the handlers with lease_lost, and their results change nothing', async () => {
    const { bench, gate, signals } = lasting()
    bench.store.plan('renew', saying(false))
    const event = events.contact.created()
    const sent = bench.send(event)
    await bench.clock.advance(5_000)
    expect(signals[0]?.aborted).toBe(true)
    expect(signals[0]?.reason).toMatchObject({ code: 'lease_lost', handlers: ['slow'], eventId: event.id })
    expect(bench.errors[0]?.message).toContain('Another process has taken over "contact.created"')
    gate.open(undefined)
    expect(await sent).toMatchObject({ outcome: 'failed', status: 503, code: 'lease_lost' })
    expect(bench.codes).toEqual(['lease_lost'])
    expect(bench.store.calls.map(({ method }) => method)).toEqual(['claim', 'renew'])
  })

  it('abandons handlers that do not end within 5 s, and leaves the marks of others to the new holder', async () => {
    const { bench, gate } = lasting()
    bench.receiver.on('*', { name: 'at-once' }, () => {})
    bench.store.plan('renew', saying(false))
    expect(await bench.sendFor(10_000, events.contact.created())).toMatchObject({ outcome: 'late' })
    expect(bench.codes).toEqual(['lease_lost', 'handler_abandoned'])
    await bench.expectAtRest()
    gate.open(undefined)
    await bench.clock.advance(1_000)
    expect(bench.store.calls.map(({ method }) => method)).toEqual(['claim', 'renew'])
  })
})

describe('a renewal that is under way', () => {
  it('is awaited before the claim is released, which it would revive', async () => {
    const bench = new Bench()
    const gate = new Gate<unknown>()
    let runs = 0
    bench.receiver.on('*', () => (runs++ === 0 ? gate.promise : undefined))
    bench.store.plan('renew', delayedBy(1_000))
    const event = events.contact.created()
    const sent = bench.send(event)
    await bench.clock.advance(5_500)
    gate.fail(new Error('once'))
    await bench.clock.advance(400)
    expect(bench.store.count('release')).toBe(0)
    await bench.clock.advance(100)
    expect(await sent).toMatchObject({ status: 500 })
    expect(bench.store.count('release')).toBe(1)
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
    expect(runs).toBe(2)
  })

  it('and finds the event done does not lose a lease that was settled', async () => {
    const { bench, gate } = lasting()
    bench.store.plan('renew', delayedBy(1_000))
    const sent = bench.send(events.contact.created())
    await bench.clock.advance(5_500)
    gate.open(undefined)
    expect(await sent).toMatchObject({ outcome: 'handled' })
    await bench.clock.advance(5_000)
    expect(bench.errors).toEqual([])
  })
})

it('an abandoned handler does not cost the marks of those that ended since the last renewal', async () => {
  const bench = new Bench({ handlerTimeoutMs: 1_000 })
  const quick = new Gate<unknown>()
  const runs: string[] = []
  bench.receiver
    .on('*', { name: 'quick' }, () => {
      runs.push('quick')
      return quick.promise
    })
    .on('*', { name: 'stuck' }, () => {
      runs.push('stuck')
      return runs.length < 3 ? new Promise(() => {}) : undefined
    })
  const event = events.contact.created()
  const renew = vi.spyOn(bench.store, 'renew')
  const sent = bench.send(event)
  await bench.clock.advance(5_500)
  quick.open(undefined)
  await bench.clock.advance(500)
  expect(await sent).toMatchObject({ code: 'handler_abandoned' })
  expect(bench.errors.at(-1)).toMatchObject({ code: 'handler_abandoned', handlers: ['stuck'] })
  expect(bench.store.marksOf('renew').at(-1)).toEqual(['quick'])
  expect(renewalsOf(bench)).toEqual([5_000, 6_000])
  expect(renew.mock.calls.map(([, , leaseMs]) => leaseMs)).toEqual([15_000, 14_000]) // the claim ends when it would have ended
  await bench.clock.advance(30_000)
  expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
  expect(runs).toEqual(['quick', 'stuck', 'stuck'])
})
