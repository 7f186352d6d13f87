import type { TransactionContext, WebhookEvent } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { Gate } from '../support/gate.ts'
import {
  atOnce,
  type Behaviour,
  Bench,
  expectRefusal,
  raise,
  ScriptedStore,
  saying,
  settle,
  soon,
  TransactionalStore,
  type Tx,
  watchRejections,
} from './support.ts'

watchRejections()

const LATEST = { order: 'latest' } as const

/** An event of the record c1, so many minutes after the first. */
function change(minute: number, action: 'created' | 'updated' | 'deleted' = 'updated', of: object = {}) {
  const timestamp = new Date(Date.UTC(2025, 0, 1, 0, minute)).toISOString()
  const envelope = { timestamp, ...of }
  return action === 'deleted' ? events.contact.deleted('c1', envelope) : events.contact[action]({ _id: 'c1' }, envelope)
}

function at(timestamp: string) {
  return change(0, 'updated', { timestamp })
}

const ignore = () => {}

/** A receiver whose handler keeps the times of the events that it ran for, and fails as the test says. */
function scene(options: Record<string, unknown> = {}, pattern = 'contact.*') {
  const bench = new Bench(options)
  const ran: string[] = []
  const failing = new Set<string>()
  const handle = (event: WebhookEvent<string, unknown>) => {
    if (failing.has(event.timestamp)) throw new Error('told to fail')
    ran.push(event.timestamp)
  }
  bench.receiver.on(pattern as '*', { ...LATEST, name: 'crm' }, handle)
  return { bench, ran, failing }
}

describe.each<[string, Behaviour]>([
  ['that answers at once', atOnce],
  ['that answers by promises', soon],
])("order: 'latest', on a store %s", (_what, usual) => {
  it('skips an event that is older than the latest of its record, and reports it', async () => {
    const { bench, ran } = scene({ usual })
    const [older, newer] = [change(1), change(2)]
    expect(await bench.send(newer)).not.toHaveProperty('skipped')
    expect(await bench.send(older)).toMatchObject({ outcome: 'handled', status: 200, skipped: ['crm'] })
    expect(ran).toEqual([newer.timestamp])
    expect(bench.outcomes.map(({ skipped }) => skipped)).toEqual([undefined, ['crm']])
    expect(bench.lines.at(-1)).toMatchObject({ level: 'debug', fields: { id: older.id, skipped: ['crm'] } })
    expect(await bench.send(older)).toMatchObject({ outcome: 'duplicate' })
    expect(bench.errors).toEqual([])
  })

  it('runs events in order, those of the same time, and counts deletions', async () => {
    const { bench, ran } = scene({ usual })
    for (const minute of [1, 2, 2, 5, 4, 5]) await bench.send(change(minute))
    for (const event of [change(6, 'deleted'), change(4), change(5, 'created'), change(7, 'created')])
      await bench.send(event)
    expect(ran.map((time) => new Date(time).getUTCMinutes())).toEqual([1, 2, 2, 5, 5, 6, 7])
  })

  it.each([
    ['2025-01-01T00:00:00Z', '2025-01-01T00:59:59.999+01:00'],
    ['2025-01-01T00:00:00.5Z', '2025-01-01T00:00:00.499999Z'],
    ['2025-01-01T05:30:00+05:30', '2024-12-31T23:59Z'],
  ])('compares times, in any form: %s is newer than %s', async (newer, older) => {
    const { bench, ran } = scene({ usual })
    for (const time of [newer, older]) await bench.send(at(time))
    expect(ran).toEqual([newer])
  })

  it.each([
    '',
    '2024-12-31',
    '2024-12-31T00:00:00',
    '2024-02-30T00:00:00Z',
    '2024-12-31T25:00:00Z',
    ' 2024-12-31T00:00:00Z',
    '-000001-01-01T00:00:00Z',
  ])('ignores a time that cannot be read, on either side: %j', async (time) => {
    const { bench, ran } = scene({ usual })
    for (const timestamp of [time, '2025-01-01T00:00:00Z', time]) await bench.send(at(timestamp))
    expect(ran).toEqual([time, '2025-01-01T00:00:00Z', time])
    expect(bench.store.calls.filter(({ method, more }) => method === 'claim' && more.length > 0)).toHaveLength(1)
  })

  it('runs events of another model, and those that name no record', async () => {
    const { bench, ran } = scene({ usual }, '*')
    await bench.send(change(9))
    const others = [
      events.model('invoice').updated({ _id: 'c1' }, { timestamp: change(2).timestamp }),
      events.syncCompleted({}, { timestamp: change(4).timestamp }),
      events.contact.updated({ _id: '' }, { timestamp: change(6).timestamp }),
      events.contact.updated({ _id: '' }, { timestamp: change(5).timestamp }),
    ]
    for (const event of others) expect(await bench.send(event)).not.toHaveProperty('skipped')
    expect(ran).toHaveLength(5)
  })

  it('counts a handler that finished, even if another one of the event failed, or has no order', async () => {
    const { bench, ran } = scene({ usual })
    let [fails, audited] = [true, 0]
    bench.receiver.on('contact.updated', { ...LATEST, name: 'mail' }, () => {
      if (fails) throw new Error('told to fail')
    })
    bench.receiver.on('contact.updated', { name: 'audit' }, () => void audited++)
    const [older, newer] = [change(1), change(2)]
    await bench.send(newer)
    fails = false
    expect(await bench.send(older)).toMatchObject({ outcome: 'handled', skipped: ['crm'] })
    expect(await bench.send(newer)).toMatchObject({ outcome: 'handled' })
    expect([ran, audited]).toEqual([[newer.timestamp], 2])
  })

  it('counts a handler that finished while another one still runs', async () => {
    for (const first of ['immediately', 'later']) {
      const bench = new Bench({ usual })
      const ran: string[] = []
      const gate = new Gate()
      bench.receiver.on('contact.updated', { ...LATEST, name: 'crm' }, (event): unknown => {
        ran.push(event.timestamp)
        return first === 'later' ? settle() : undefined
      })
      bench.receiver.on('contact.updated', { name: 'slow' }, (event) =>
        event.timestamp === change(2).timestamp ? gate.promise : undefined,
      )
      const sending = bench.send(change(2))
      for (let turn = 0; turn < 4; turn++) await settle()
      await bench.send(change(1))
      gate.open()
      await sending
      expect(ran, first).toEqual([change(2).timestamp])
    }
  })

  it.each([
    ['none', undefined],
    ['something else', '1'],
    ['too few', []],
    ['no numbers', [Number.NaN]],
  ])('runs nothing if the claim carries %s as positions', async (_what, positions) => {
    const { bench, ran } = scene({ usual })
    bench.store.plan('claim', saying({ state: 'claimed', token: 'token', marks: [], positions }))
    expect(await bench.send(change(2))).toMatchObject({ status: 503, code: 'store_unavailable' })
    expect(bench.errors[0]?.cause).toMatchObject({ message: 'it returned something that is not a claim' })
    expect(ran).toEqual([])
  })

  it('compares the event as it arrived, whatever a handler or the schema changes', async () => {
    const bench = new Bench({ usual })
    const ran: string[] = []
    bench.receiver.on('contact.updated', LATEST, (event) => {
      ran.push(event.timestamp)
      Object.assign(event, { timestamp: 'changed', accountKey: 'changed' })
      Object.assign(event.data.record, { _id: 'changed' })
    })
    for (const minute of [2, 1, 3]) await bench.send(change(minute))
    expect(ran).toEqual([change(2).timestamp, change(3).timestamp])
  })
})

describe("order: 'latest' in transactions", () => {
  function database(handle: (event: WebhookEvent, transaction: TransactionContext<Tx>['transaction']) => unknown) {
    const clock = new Bench().clock
    const store = new TransactionalStore(clock)
    const bench = new Bench({ clock, store })
    bench.receiver.on(
      'contact.updated',
      { ...LATEST, name: 'crm' },
      (event, context) => handle(event, (context as TransactionContext<Tx>).transaction), // benches are untyped
    )
    return { bench, store }
  }

  it.each(['waits for it', 'catches the error', 'does not wait for it', 'throws another error for it'])(
    'skips an event that a newer one overtook in its transaction, if the handler %s',
    async (how) => {
      const gate = new Gate()
      const { bench, store } = database((event, transaction) => {
        const committing = transaction(async (tx) => {
          tx.write(event.timestamp)
          if (event.timestamp === change(1).timestamp) await gate.promise
        })
        if (how === 'catches the error') return committing.catch(ignore)
        if (how === 'throws another error for it') return committing.catch(raise(new Error('not written')))
        return how === 'waits for it' ? committing : undefined
      })
      const older = bench.send(change(1))
      await settle()
      await bench.send(change(2))
      gate.open()
      expect(await older).toMatchObject({ outcome: 'handled', skipped: ['crm'] })
      expect(store.rows).toEqual([change(2).timestamp])
      expect(bench.errors).toEqual([])
    },
  )
})

describe("a registration with order: 'latest'", () => {
  const mustRefuse = (pattern: string, options: object, text?: string, given: Record<string, unknown> = {}) =>
    expectRefusal(() => new Bench(given).receiver.on(pattern as '*', options, ignore), 'option_invalid', text)

  it.each(['finance.payment.failed', 'sync.completed', 'invoice.paid'])(
    'is refused for %s, which is about no record',
    (pattern) => {
      const schema = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } }
      mustRefuse(pattern, LATEST, 'this type is about none', { events: { 'invoice.paid': schema } })
    },
  )

  it.each(['first', null])('is refused for %j as its value', (order) => mustRefuse('contact.*', { order }))

  it('is refused on a store that keeps no positions', () => {
    const { inner } = new ScriptedStore(new Bench().clock)
    const { claim, renew, complete, release } = inner
    const store = { retentionMs: inner.retentionMs, claim, renew, complete, release }
    mustRefuse('contact.*', LATEST, 'does not say keepsPositions: true', { store })
    expect(() => new Bench({ store: { ...store } }).receiver.on('contact.*', ignore)).not.toThrow()
  })
})
