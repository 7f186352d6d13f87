import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createClock } from '../../src/emulator/clock.ts'
import type { EmulatorDelivery } from '../../src/emulator/delivery.ts'
import { Feed, type FeedMessage } from '../../src/emulator/feed.ts'
import { CallLog, createBatches } from '../../src/emulator/inspector/batches.ts'
import { quiet } from './support.ts'

function open() {
  const feed = new Feed(quiet)
  const parts = { feed, clock: createClock('manual', 1_000, { nextDueAt: () => undefined, onMove() {} }) }
  const calls = new CallLog(parts)
  const batches = createBatches(parts, calls)
  onTestFinished(() => batches.stop())
  return { feed, calls, batches, clock: parts.clock }
}

const delivery = { attempts: [], status: 'pending', signing: 'valid', createdAt: 0 } as unknown as EmulatorDelivery // what a row is made of
const change = (id: string, fields: Partial<EmulatorDelivery> = {}): FeedMessage => ({
  type: 'delivery',
  delivery: { ...delivery, id, ...fields },
})
const call = (path: string, fields = {}): FeedMessage => ({
  ...{ type: 'call', method: 'GET', path, status: 200, accountKey: undefined, rateRemaining: undefined },
  ...fields,
})
const at = (ms: number) => new Date(ms).toISOString()
const warn = (message: string): FeedMessage => ({ type: 'warning', message })

/** Lets a test move the time of the machine, which batches go by. */
function stopTime() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  vi.advanceTimersByTime(1_000_000)
}

it('keeps the last 10,000 deliveries for a page that does not read, and none of their bodies', async () => {
  const { feed, batches } = open()
  for (let n = 1; n <= 12_345; n++) feed.publish(change(`d${n}`))
  const ids: string[] = []
  while (ids.length < 10_000) {
    const rows = (await batches.next())?.rows ?? []
    expect(rows.length).toBeLessThanOrEqual(2_000)
    ids.push(...rows.map(({ id }) => id))
  }
  expect(ids).toHaveLength(10_000)
  expect([ids[0], ids.at(-1)]).toEqual(['d2346', 'd12345'])
})

describe('a batch', () => {
  it('has the last state of each delivery, and each of them once', async () => {
    const { feed, batches } = open()
    feed.publish(change('d1'))
    feed.publish(change('d2'))
    feed.publish({ type: 'attempt', delivery: { ...delivery, id: 'd1', status: 'success' }, attempt: {} as never }) // not read
    const { rows = [], ...rest } = (await batches.next()) ?? {}
    expect(rows.map(({ id, status }) => [id, status])).toEqual([
      ['d1', 'success'],
      ['d2', 'pending'],
    ])
    expect(rest).toEqual({ now: at(1_000), notices: [] })
    feed.publish(change('d3'))
    expect((await batches.next())?.rows.map(({ id }) => id)).toEqual(['d3'])
  })

  it('has what else happened, once, and no delivery from before a reset', async () => {
    const { feed, calls, batches } = open()
    feed.publish(change('d1'))
    feed.publish(call('/first'))
    const webhook = { type: 'webhook', change: 'created', webhookId: 'w1' } as const
    feed.publish({ ...webhook, accountKey: 'acme' })
    feed.publish({ type: 'clock', now: 5 })
    feed.publish(warn('careful'))
    const [made] = calls.list()
    feed.publish({ type: 'reset' })
    feed.publish(change('d2'))
    const { rows, notices } = (await batches.next()) ?? {}
    expect(rows?.map(({ id }) => id)).toEqual(['d2'])
    expect(notices).toEqual([
      { type: 'call', call: made },
      webhook,
      { type: 'clock' },
      { type: 'warning', message: 'careful' },
      { type: 'reset' },
    ])
    feed.publish(warn('again'))
    expect((await batches.next())?.notices).toEqual([{ type: 'warning', message: 'again' }])
  })

  it('has the last 500 notices for a page that does not read', async () => {
    const { feed, batches } = open()
    for (let n = 1; n <= 505; n++) feed.publish(warn(String(n)))
    const { notices = [] } = (await batches.next()) ?? {}
    expect([notices.length, notices[0], notices.at(-1)]).toMatchObject([500, { message: '6' }, { message: '505' }])
  })

  it('comes as soon as something happens, but 50 ms after the one before', async () => {
    stopTime()
    const { feed, batches } = open()
    let count = 0
    const read = () =>
      batches.next().then(({ rows = [] } = { now: '', notices: [], rows: [] }) => (count += rows.length))
    void read()
    await vi.advanceTimersByTimeAsync(100)
    feed.publish(change('d1'))
    await vi.advanceTimersByTimeAsync(0)
    expect(count).toBe(1)
    void read()
    feed.publish(change('d2'))
    await vi.advanceTimersByTimeAsync(40)
    feed.publish(change('d3'))
    await vi.advanceTimersByTimeAsync(9)
    expect(count).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(count).toBe(3)
  })

  it('is empty after five seconds without news, and a message without news changes nothing', async () => {
    stopTime()
    const { feed, batches } = open()
    let batch: unknown
    void batches.next().then((next) => {
      batch = next
    })
    await vi.advanceTimersByTimeAsync(3_000)
    feed.publish({ ...call('/unknown'), type: 'other' } as never) // as a later version may
    await vi.advanceTimersByTimeAsync(1_999)
    expect(batch).toBeUndefined()
    await vi.advanceTimersByTimeAsync(1)
    expect(batch).toEqual({ now: at(1_000), notices: [], rows: [] })
  })

  it('does not come once they were stopped, not even one that was asked for', async () => {
    stopTime()
    const { feed, batches } = open()
    const timers = vi.getTimerCount() // of other files as well, which share the process
    const waiting = batches.next()
    batches.stop()
    expect(vi.getTimerCount()).toBe(timers)
    expect(await waiting).toBeUndefined()
    feed.publish(change('d1'))
    expect(await batches.next()).toBeUndefined()
  })

  it('does not come if they are stopped during the pause between two', async () => {
    stopTime()
    const { feed, batches } = open()
    feed.publish(change('d1'))
    expect((await batches.next())?.rows).toHaveLength(1)
    feed.publish(change('d2'))
    const timers = vi.getTimerCount()
    const second = batches.next()
    batches.stop()
    expect(vi.getTimerCount()).toBe(timers)
    expect(await second).toBeUndefined()
  })
})

describe('the log of calls', () => {
  it('lists the newest first, with their times and what is known of the caller', async () => {
    const { feed, calls, clock } = open()
    feed.publish(call('/first'))
    await clock.advance(500)
    const second = call('/second', { method: 'POST', status: 429, accountKey: 'acme', rateRemaining: 0 })
    feed.publish(second)
    feed.publish(warn('no call'))
    const latest = {
      id: 2,
      at: at(1_500),
      method: 'POST',
      path: '/second',
      status: 429,
      account: 'acme',
      rateRemaining: 0,
    }
    expect(calls.list()).toEqual([
      latest,
      { id: 1, at: at(1_000), method: 'GET', path: '/first', status: 200, account: null, rateRemaining: null },
    ])
    expect(calls.latest).toEqual(latest)
  })

  it('keeps the last 500 calls, and none from before a reset', () => {
    const { feed, calls } = open()
    for (let n = 1; n <= 505; n++) feed.publish(call(`/${n}`))
    expect([calls.list().length, calls.list()[0]?.path, calls.list().at(-1)?.path]).toEqual([500, '/505', '/6'])
    feed.publish({ type: 'reset' })
    feed.publish(call('/new'))
    expect(calls.list()).toMatchObject([{ id: 506, path: '/new' }])
  })
})
