import { describe, expect, it } from 'vitest'
import { createClock } from '../../tools/emulator/clock.ts'
import { DeliveryLog } from '../../tools/emulator/delivery-log.ts'
import { newDelivery } from '../../tools/emulator/events.ts'
import { Feed, type FeedMessage } from '../../tools/emulator/feed.ts'
import { CallLog, readBatch } from '../../tools/emulator/inspector/batches.ts'
import { openJournal } from '../../tools/emulator/journal.ts'
import { quiet } from './support.ts'

function open() {
  const feed = new Feed(quiet)
  const clock = createClock('manual', 1_000, { nextDueAt: () => undefined, onMove() {} })
  const log = new DeliveryLog(openJournal(), { kept: 99_999, pending: 99_999, bytes: 1e9 })
  const parts = { feed, clock, log, bootId: 'boot' }
  const calls = new CallLog(parts)
  const webhook = {
    id: 'w',
    accountKey: 'acme',
    url: 'http://localhost/',
    secret: 's',
    description: undefined,
    events: [],
    active: true,
    createdAt: '',
  }
  const make = (...ids: readonly string[]) => {
    const made = ids.map((id) =>
      newDelivery(webhook, { id, eventId: id, eventType: 'a.b', createdAt: 0, bytes: new Uint8Array() }),
    )
    log.add(made)
    for (const delivery of made) feed.publish({ type: 'delivery', delivery })
    return made
  }
  const end = (...made: ReturnType<typeof make>) => {
    log.update(made, { status: 'success', nextAttemptAt: undefined })
    for (const delivery of made) feed.publish({ type: 'delivery', delivery })
  }
  const read = (after: string) => readBatch(parts, calls, after)
  return { feed, calls, read, clock, log, make, end }
}

const call = (path: string, fields = {}): FeedMessage => ({
  ...{ type: 'call', method: 'GET', path, status: 200, accountKey: undefined, rateRemaining: undefined },
  ...fields,
})
const _at = (ms: number) => new Date(ms).toISOString()
const _warn = (message: string): FeedMessage => ({ type: 'warning', message })
const _EMPTY = { mustReload: false, isStateNew: false, rows: [], warnings: [] }

describe('a batch', () => {
  it('begins after the cursor of any earlier one, in parts of 2,000 for a page that did not read', async () => {
    const { make, end, read } = open()
    const made = make(...Array.from({ length: 4_500 }, (_, n) => `d${n}`))
    const first = read('boot.0.0.0')
    expect([first.rows.length, first.cursor]).toEqual([2_000, 'boot.2000.0.0'])
    end(...make('e'))
    const second = read(first.cursor)
    const third = read(second.cursor)
    expect([second, third].map(({ rows }) => rows.length)).toEqual([2_000, 501])
    expect(read(third.cursor)).toMatchObject({ rows: [], cursor: 'boot.4502.0.0' })
    for (let n = 0; n < 3; n++) end(...made)
    const late = read(third.cursor)
    expect([late.rows.length, late.rows[0]?.change, read('boot.1.0.0').rows.length]).toEqual([2_000, 13_503, 2_000])
  })

  it('says that webhooks changed after the position of the list', async () => {
    const { read, feed } = open()
    const { cursor } = read('boot.0.0.0')
    feed.publish({ type: 'webhook', change: 'updated', webhookId: 'w1', accountKey: 'acme' })
    const changed = read(cursor)
    expect([changed.isStateNew, read(changed.cursor).isStateNew]).toEqual([true, false])
  })
})

describe('the log of calls', () => {
  it('keeps the last 500 calls, and none from before a reset', () => {
    const { feed, calls } = open()
    for (let n = 1; n <= 505; n++) feed.publish(call(`/${n}`))
    expect([calls.list().length, calls.list()[0]?.path, calls.list().at(-1)?.path]).toEqual([500, '/505', '/6'])
    feed.publish({ type: 'reset' })
    feed.publish(call('/new'))
    expect(calls.list()).toMatchObject([{ id: 506, path: '/new' }])
  })
})
