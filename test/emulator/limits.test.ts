import { expect, it } from 'vitest'
import type { StoredDelivery } from '../../src/emulator/delivery.ts'
import { DeliveryLog } from '../../src/emulator/delivery-log.ts'
import { DueQueue } from '../../src/emulator/due-queue.ts'
import { newDelivery } from '../../src/emulator/events.ts'
import { noJournal } from '../../src/emulator/journal.ts'
import { RateLimiter } from '../../src/emulator/rate-limit.ts'
import { LIMITS } from '../../src/emulator/service.ts'
import { call, start } from './support.ts'

const webhook = {
  id: 'w',
  accountKey: 'a',
  url: 'http://localhost/',
  events: [],
  description: undefined,
  active: true,
  secret: 's',
  createdAt: '',
}
const make = (id: string): StoredDelivery =>
  newDelivery(webhook, { id, eventId: `e${id}`, eventType: 't.created', createdAt: 0, bytes: new Uint8Array() })

it('keeps the newest deliveries, drops the oldest that finished first, and pending ones never', () => {
  const log = new DeliveryLog(noJournal, { kept: 4, pending: 5 })
  const all = ['1', '2', '3', '4'].map(make)
  log.add(all)
  for (const id of ['3', '1']) {
    const delivery = log.find(id)
    if (delivery !== undefined) log.update(delivery, { status: 'success' })
  }
  log.add([make('5')])
  expect(log.list('w').map(({ id }) => id)).toEqual(['1', '2', '4', '5'])
  log.add([make('6'), make('7')])
  expect(log.list().map(({ id }) => id)).toEqual(['2', '4', '5', '6', '7'])
  expect(log.pendingCount).toBe(5)
  expect(() => log.mustTake(1)).toThrow(expect.objectContaining({ kind: 'full' }))
})

it('takes 200 webhooks per account', async () => {
  const crm = await start()
  const fields = { url: 'http://localhost/', events: ['sync.failed'] }
  for (let made = 0; made < LIMITS.webhooksPerAccount; made++) crm.webhooks.create(fields)
  expect(() => crm.webhooks.create(fields)).toThrow('200 webhooks per account')
  expect(crm.webhooks.create(fields, { accountKey: 'globex' }).accountKey).toBe('globex')
})

it('answers 503 to events and changes above 50,000 pending deliveries, and changes nothing', async () => {
  const crm = await start({ assume: { A31: 'kept' } })
  for (let made = 0; made < 100; made++)
    crm.webhooks.create({ url: 'http://localhost/', events: ['m.created'], active: false })
  crm.events.emitMany({ type: 'm.created' }, 499)
  expect((await call(crm, 'POST /_emulator/events', { body: { type: 'm.created', count: 2 } })).status).toBe(503)
  expect((await call(crm, 'POST /_emulator/events', { body: { type: 'm.created' } })).status).toBe(202)
  expect((await call(crm, 'POST /_emulator/records/m', { body: {} })).status).toBe(503)
  expect(crm.records.list('m')).toEqual([])
  expect(crm.deliveries.list()).toHaveLength(50_000)
})

it('counts in windows that begin with the first request, and forgets callers that are gone', () => {
  let now = 0
  const limiter = new RateLimiter({ now: () => now }, { limit: 2, windowMs: 10 })
  const take = () => limiter.take('me')
  expect([take(), take(), take()].map(({ remaining, isExceeded }) => [remaining, isExceeded])).toEqual([
    [1, false],
    [0, false],
    [0, true],
  ])
  now = 10
  expect(take()).toEqual({ limit: 2, remaining: 1, resetAt: 20, isExceeded: false })
})

it('gives what is due in order of time, then of arrival', () => {
  const queue = new DueQueue<number>()
  const times = Array.from({ length: 500 }, (_, index) => (index * 7_919) % 37)
  for (const [index, at] of times.entries()) queue.push(at, index)
  const taken: number[] = []
  for (let item = queue.takeDue(20); item !== undefined; item = queue.takeDue(20)) taken.push(item)
  const sorted = times.map((at, index) => ({ at, index })).sort((a, b) => a.at - b.at || a.index - b.index)
  expect(taken).toEqual(sorted.filter(({ at }) => at <= 20).map(({ index }) => index))
  expect(queue.nextAt).toBe(21)
  queue.clear()
  expect(queue.takeDue(Infinity)).toBeUndefined()
})
