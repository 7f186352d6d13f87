import { describe, expect, it } from 'vitest'
import type { StoredDelivery } from '../../tools/emulator/delivery.ts'
import { DeliveryLog } from '../../tools/emulator/delivery-log.ts'
import { newDelivery } from '../../tools/emulator/events.ts'
import { openJournal } from '../../tools/emulator/journal.ts'
import { missAttempt } from '../../tools/emulator/make-attempt.ts'
import { makeDatabase } from './support.ts'

const LIMITS = { kept: 4, pending: 5, bytes: 1_000 }
const ATTEMPT = {
  number: 1,
  url: 'http://localhost/',
  at: 0,
  durationMs: 1,
  status: 500,
  error: 'no',
  failure: 'status',
  responseHeaders: {},
} as const
const bytesOf = (text: string) => new TextEncoder().encode(text)

function make(id: string, webhookId = 'w', fields: Partial<StoredDelivery> = {}): StoredDelivery {
  const webhook = {
    id: webhookId,
    accountKey: 'a',
    url: 'http://localhost/',
    events: [],
    description: undefined,
    active: true,
    secret: 's',
    createdAt: '',
  }
  const about = { id, eventId: `e${id}`, eventType: 't.created', createdAt: 0, bytes: bytesOf(id) }
  return { ...newDelivery(webhook, about), ...fields }
}

function makeJournal() {
  const database = makeDatabase()
  return { database, journal: openJournal(database) }
}

const idsOf = (list: readonly StoredDelivery[]) => list.map(({ id }) => id)

function end(log: DeliveryLog, status: 'success' | 'failed', ...ids: readonly string[]): void {
  for (const id of ids) log.update([get(log, id)], { status, nextAttemptAt: undefined, remaining: 0 })
}

function get(log: DeliveryLog, id: string): StoredDelivery {
  const delivery = log.find(id)
  if (delivery === undefined) throw new Error(`there is a delivery ${id}`)
  return delivery
}

describe('the delivery log', () => {
  it('counts the kept part of answers among the bytes', () => {
    const log = new DeliveryLog(openJournal(), LIMITS)
    log.add(['1', '2', '3'].map((id) => make(id)))
    const attempt = { ...ATTEMPT, responseHeaders: { 'x-long': 'h'.repeat(94) }, responseBody: 'b'.repeat(300) }
    for (const id of ['1', '2'])
      log.update([get(log, id)], { status: 'failed', nextAttemptAt: undefined, attempts: [attempt] })
    log.add([make('4')]) // 804 bytes
    expect(idsOf(log.list())).toEqual(['1', '2', '3', '4'])
    end(log, 'success', '3')
    log.add([make('5', 'w', { bytes: bytesOf('x'.repeat(200)) })])
    expect(idsOf(log.list())).toEqual(['2', '3', '4', '5'])
  })

  it('accepts as many pending deliveries as its limit, and not one more', () => {
    const log = new DeliveryLog(openJournal(), LIMITS)
    log.add(['1', '2', '3'].map((id) => make(id)))
    log.mustTake(2, 0)
    expect(() => log.mustTake(3, 0)).toThrow(expect.objectContaining({ kind: 'full' }))
    end(log, 'success', '2')
    log.mustTake(3, 0)
    const [delivery] = log.list()
    if (delivery) log.update([delivery], { status: 'failed', nextAttemptAt: undefined })
    if (delivery) log.update([delivery], { status: 'pending', nextAttemptAt: 7, remaining: 1 })
    expect(() => log.mustTake(4, 0)).toThrow('2 deliveries are pending')
  })

  it('drops those that finished first, never a pending one, and none while there is room', () => {
    const log = new DeliveryLog(openJournal(), LIMITS)
    log.add(['1', '2', '3'].map((id) => make(id)))
    end(log, 'success', '3', '1')
    log.add([make('4')])
    expect(idsOf(log.list())).toEqual(['1', '2', '3', '4'])
    log.add([make('5')])
    expect(idsOf(log.list('w'))).toEqual(['1', '2', '4', '5'])
    log.add([make('6'), make('7')])
    expect(idsOf(log.list())).toEqual(['2', '4', '5', '6', '7'])
  })

  it('drops what finished first to keep the answers of what finishes, but not of what is pending', () => {
    const log = new DeliveryLog(openJournal(), LIMITS)
    log.add(['1', '2', '3'].map((id) => make(id)))
    const attempt = { ...ATTEMPT, responseBody: 'b'.repeat(400) }
    for (const id of ['1', '2', '3'])
      log.update([get(log, id)], { status: 'failed', nextAttemptAt: undefined, attempts: [attempt] })
    expect(idsOf(log.list())).toEqual(['2', '3'])
    log.update([get(log, '2')], { status: 'pending', nextAttemptAt: 1, attempts: [attempt, attempt] })
    expect(idsOf(log.list())).toEqual(['2', '3'])
    end(log, 'success', '2')
    expect(idsOf(log.list())).toEqual(['2'])
  })

  it('holds as many bytes of bodies as its limit: drops those that finished first, and accepts no more that wait', () => {
    const log = new DeliveryLog(openJournal(), LIMITS)
    const big = (id: string, size: number) => make(id, 'w', { bytes: new Uint8Array(size) })
    log.add([big('1', 400), big('2', 300)])
    log.mustTake(1, 300)
    expect(() => log.mustTake(1, 301)).toThrow('2 deliveries of 0 MiB are pending')
    end(log, 'success', '2', '1')
    log.mustTake(1, 1_000)
    log.add([big('3', 300)])
    expect(idsOf(log.list())).toEqual(['1', '2', '3'])
    log.add([big('4', 1)])
    expect(idsOf(log.list())).toEqual(['1', '3', '4'])
    log.add([make('5', 'w', { bytes: new Uint8Array(200), signedBytes: new Uint8Array(400) })])
    expect(idsOf(log.list())).toEqual(['3', '4', '5'])
    const [, small] = log.list()
    if (small) log.update([small], { status: 'pending', nextAttemptAt: 1, bytes: new Uint8Array(99) })
    log.mustTake(1, 1)
    expect(() => log.mustTake(1, 2)).toThrow('pending')
    log.removeWebhook('w', () => {})
    log.mustTake(1, 1_000)
  })

  it('counts a delivery that was retried as finished when it last was', () => {
    const log = new DeliveryLog(openJournal(), LIMITS)
    log.add(['1', '2', '3', '4'].map((id) => make(id)))
    end(log, 'failed', '1', '2')
    const [first] = log.list()
    if (first) log.update([first], { status: 'pending', nextAttemptAt: 1, remaining: 1 })
    end(log, 'success', '1')
    log.add([make('5')])
    expect(idsOf(log.list())).toEqual(['1', '3', '4', '5'])
  })
})

describe('the delivery log on a database', () => {
  it('reads back everything that it wrote', () => {
    const { journal } = makeJournal()
    const log = new DeliveryLog(journal, LIMITS)
    const edited = { signing: 'stale-bytes', signedBytes: bytesOf('before'), resendOf: '1', remaining: 1 } as const
    log.add([
      make('1', 'v', { nextAttemptAt: 7 }),
      make('2'),
      make('3', 'v', edited),
      make('4', 'v', { bytes: bytesOf('') }),
    ])
    const [one, two] = log.list()
    if (one) log.update([one], { status: 'pending', nextAttemptAt: 9, remaining: 3, bytes: bytesOf('new') })
    if (two) log.update([two], { status: 'failed', nextAttemptAt: undefined, note: 'gone' })
    const read = new DeliveryLog(journal, LIMITS)
    expect(read.list().map(({ ticket: _ticket, change: _change, ...rest }) => rest)).toStrictEqual(
      log.list().map(({ ticket: _ticket, change: _change, ...rest }) => rest),
    )
    expect(read.find('1')).toMatchObject({ bytes: bytesOf('new'), nextAttemptAt: 9, remaining: 3 })
    expect(read.find('3')).toMatchObject({ signedBytes: bytesOf('before'), resendOf: '1', signing: 'stale-bytes' })
    expect(idsOf(read.list('v'))).toEqual(['1', '3', '4'])
    expect(read.pendingCount).toBe(3)
    expect(() => read.mustTake(3, 0)).toThrow(expect.objectContaining({ kind: 'full' }))
  })

  it('drops those that finished first after it was read back, over several lives', () => {
    const { journal } = makeJournal()
    const first = new DeliveryLog(journal, LIMITS)
    first.add(['1', '2', '3', '4'].map((id) => make(id)))
    const endAt = (log: DeliveryLog, at: number, id: string) => {
      const attempts = [missAttempt(get(log, id), { url: '' }, at)]
      log.update([get(log, id)], { status: 'success', nextAttemptAt: undefined, attempts })
    }
    for (const [at, id] of ['4', '2', '3'].entries()) endAt(first, at, id)
    const second = new DeliveryLog(journal, LIMITS)
    endAt(second, 3, '1')
    const third = new DeliveryLog(journal, LIMITS)
    const left = ['5', '6', '7', '8'].map((id) => {
      third.add([make(id)])
      return idsOf(third.list()).join('')
    })
    expect(left).toEqual(['1235', '1356', '1567', '5678'])
    expect(idsOf(new DeliveryLog(journal, LIMITS).list())).toEqual(['5', '6', '7', '8'])
  })

  it('leaves no row behind of dropped or removed deliveries', () => {
    const { database, journal } = makeJournal()
    const log = new DeliveryLog(journal, { kept: 1, pending: 5, bytes: 1_000 })
    log.add([make('1', 'v', { signedBytes: bytesOf('x') })])
    end(log, 'success', '1')
    log.add([make('2', 'w', { signedBytes: bytesOf('x') })])
    log.add([make('3'), make('4', 'w', { signedBytes: bytesOf('x') })])
    end(log, 'success', '4', '3')
    log.removeWebhook('w', () => {})
    for (const table of ['bodies', 'entries']) expect(database.prepare(`SELECT * FROM ${table}`).all()).toEqual([])
  })

  it.each(['add', 'update', 'removeWebhook'] as const)(
    'changes nothing if the rows beside it cannot be written: %s',
    (call) => {
      const { journal } = makeJournal()
      const log = new DeliveryLog(journal, LIMITS)
      log.add([make('1')])
      const before = structuredClone(log.list())
      const fail = () => {
        throw new Error('no room')
      }
      const calls = {
        add: () => log.add([make('2')], fail),
        update: () => log.update(log.list(), { status: 'failed', nextAttemptAt: undefined }, fail),
        removeWebhook: () => log.removeWebhook('w', fail),
      }
      expect(calls[call]).toThrow('no room')
      expect(log.list()).toEqual(before)
      expect(new DeliveryLog(journal, LIMITS).list()).toEqual(before)
    },
  )
})
