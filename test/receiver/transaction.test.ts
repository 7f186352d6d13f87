import type { HandlerContext, TransactionContext } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { Gate } from '../support/gate.ts'
import {
  atOnce,
  type Behaviour,
  Bench,
  raise,
  rejecting,
  settle,
  soon,
  TransactionalStore,
  type Tx,
  watchRejections,
} from './support.ts'

watchRejections()

const LEASE_MS = 15_000

type Context = TransactionContext<Tx>

/** A bench with such a store and one handler. */
function scene(
  handle: (context: Context, run: number) => unknown,
  { usual = soon, ...options }: { readonly usual?: Behaviour } & Record<string, unknown> = {},
) {
  const bench = new Bench(options)
  const store = new TransactionalStore(bench.clock, usual)
  const tested = new Bench({ clock: bench.clock, ...options, store })
  let runs = 0
  const run = (context: HandlerContext) => handle(context as Context, ++runs) // benches are untyped
  tested.receiver.on('contact.created', { name: 'save' }, (_event, context) => run(context))
  return { bench: tested, store, clock: tested.clock, event: events.contact.created(), runs: () => runs }
}

describe.each<[string, Behaviour]>([
  ['at once', atOnce],
  ['by a promise', soon],
])('context.transaction, with a store that answers %s', (_how, usual) => {
  it('commits writes and finish mark together, and returns the result of work', async () => {
    const given: unknown[] = []
    const { bench, store, event } = scene(
      async ({ transaction }) => {
        given.push(
          await transaction(async (tx) => {
            tx.write('zoe')
            return 7
          }),
        )
      },
      { usual },
    )
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
    expect(await bench.send(event)).toMatchObject({ outcome: 'duplicate' })
    expect([given, store.rows]).toEqual([[7], ['zoe']])
    expect(store.claims).toMatchObject([{ mark: 'save', token: expect.any(String), key: expect.any(String) }])
    expect(bench.codes).toEqual([])
  })

  it('ends the handler, whether or not the handler awaits it', async () => {
    const { bench, store, event } = scene((context) => void context.transaction((tx) => tx.write('zoe')), { usual })
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
    expect(store.rows).toEqual(['zoe'])
  })

  it('fails the handler if work throws, and the next attempt runs again', async () => {
    const { bench, store, event } = scene(
      (context, run) =>
        context.transaction((tx) => {
          tx.write(`run ${run}`)
          if (run === 1) throw new Error('no')
        }),
      { usual },
    )
    expect(await bench.send(event)).toMatchObject({ outcome: 'failed', status: 500, code: 'handler_failed' })
    expect(store.rows).toEqual([])
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
    expect(store.rows).toEqual(['run 2'])
  })

  it.each<[string, (context: Context) => unknown]>([
    [
      'catches its failure',
      (context) => context.transaction(() => Promise.reject(new Error('no'))).catch(() => 'fine'),
    ],
    ['does not wait for it', (context) => void context.transaction(() => Promise.reject(new Error('no')))],
  ])('fails a handler that %s', async (_what, handle) => {
    const { bench, event } = scene(handle, { usual })
    expect(await bench.send(event)).toMatchObject({ outcome: 'failed', code: 'handler_failed' })
    expect(bench.errors).toMatchObject([{ code: 'handler_failed', handlers: ['save'], cause: new Error('no') }])
    expect(await bench.send(event)).toMatchObject({ outcome: 'failed' })
  })
})

describe('a commit', () => {
  it('that is carried out but loses its answer fails the handler, and the next attempt finds the mark', async () => {
    const { bench, store, event, runs } = scene((context) => context.transaction((tx) => tx.write('zoe')))
    store.atCommit = (commit) => {
      commit()
      throw new Error('the connection was cut')
    }
    expect(await bench.send(event)).toMatchObject({ outcome: 'failed', status: 500 })
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
    expect([runs(), store.rows]).toEqual([1, ['zoe']])
  })

  it.each<[string, () => unknown]>([
    ['throws', raise(new Error('afterwards'))],
    ['calls for a second transaction', () => undefined],
  ])('lets the handler count as finished even if it then %s', async (what, then) => {
    const { bench, store, event, runs } = scene(async (context) => {
      await context.transaction((tx) => tx.write('zoe'))
      await (what === 'throws' ? then() : context.transaction((tx) => tx.write('joe')))
    })
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
    expect(await bench.send(event)).toMatchObject({ outcome: 'duplicate' })
    expect([runs(), store.rows]).toEqual([1, ['zoe']])
    const last = { code: 'handler_failed', handlers: ['save'], message: expect.stringContaining('counts as finished') }
    expect(bench.errors.at(-1)).toMatchObject(last)
    if (what !== 'throws') expect(bench.codes).toEqual(['transaction_misused', 'handler_failed'])
  })

  it('is refused with options behind the work, of which it has none', async () => {
    const { bench, store, event } = scene((context) =>
      Reflect.apply(context.transaction, undefined, [
        (tx: { write(name: string): void }) => tx.write('zoe'),
        { isolationLevel: 'serializable' },
      ]),
    )
    expect(await bench.send(event)).toMatchObject({ outcome: 'failed' })
    expect(store.rows).toEqual([])
    expect(bench.errors[0]?.message).toContain('takes the work alone: its transaction has no options')
  })

  it('is kept even if another handler fails: the next attempt runs that one only', async () => {
    const { bench, store, event, runs } = scene((context) => context.transaction((tx) => tx.write('zoe')))
    let isBroken = true
    bench.receiver.on('*', async () => {
      if (isBroken) throw new Error('broken')
    })
    expect(await bench.send(event)).toMatchObject({ outcome: 'failed' })
    expect(store.marksOf('release')).toEqual([['save']])
    isBroken = false
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
    expect([runs(), store.rows]).toEqual([1, ['zoe']])
  })
})

describe('a call', () => {
  it('after the handler has ended is refused', async () => {
    let late: Promise<unknown> | undefined
    const { bench, store, event, clock } = scene((context) => {
      clock.setTimeout(() => {
        late = context.transaction((tx) => tx.write('zoe'))
      }, 10)
    })
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
    await clock.advance(10)
    await expect(late).rejects.toMatchObject({ code: 'transaction_misused', handlers: ['save'], eventId: event.id })
    expect(bench.codes).toEqual(['transaction_misused'])
    expect([store.rows, store.claims]).toEqual([[], []])
  })

  it.each([undefined, null, 'work', {}])('with %j as work is refused', async (work) => {
    const { bench, store, event } = scene((context) => context.transaction(work as never)) // plain JavaScript
    expect(await bench.send(event)).toMatchObject({ outcome: 'failed', code: 'handler_failed' })
    expect(bench.codes).toEqual(['transaction_misused', 'handler_failed'])
    expect(store.claims).toEqual([])
  })
})

it('a lease that is lost is reported by the transaction, and nothing is settled', async () => {
  const gate = new Gate()
  const { bench, store, clock, event } = scene(async (context) => {
    await gate.promise
    await context.transaction((tx) => tx.write('zoe'))
  })
  const sent = bench.send(event)
  await clock.advance(0)
  store.usual = rejecting // until the lease has ended, and another process takes the event
  await clock.advance(LEASE_MS + 1)
  expect(store.inner.claim(keyOf(store), LEASE_MS)).toMatchObject({ state: 'claimed' })
  gate.open()
  expect(await sent).toMatchObject({ outcome: 'late' })
  await clock.advance(0)
  expect(bench.outcomes.at(-1)).toMatchObject({ outcome: 'failed', status: 503, code: 'lease_lost' })
  expect(bench.codes).toEqual(['store_unavailable', 'lease_lost', 'handler_failed'])
  expect(store.rows).toEqual([])
  expect([store.count('complete'), store.count('release')]).toEqual([0, 0])
})

it('a handler whose transaction is committed has finished, whatever it still does: its mark goes with the renewals', async () => {
  const gate = new Gate()
  const { bench, store, event } = scene(async ({ transaction }) => {
    await transaction((tx) => tx.write('row'))
    await gate.promise
  })
  const sent = bench.send(event)
  await bench.clock.advance(6_000)
  expect(store.marksOf('renew')).toEqual([['save']])
  gate.open()
  expect(await sent).toMatchObject({ outcome: 'handled' })
})

it('a handler that is given up has finished if its transaction was committed before', async () => {
  const { bench, store, clock, event, runs } = scene(
    async (context) => {
      await context.transaction((tx) => tx.write('zoe'))
      await new Promise(() => {})
    },
    { handlerTimeoutMs: 1_000 },
  )
  const sent = bench.send(event)
  await clock.advance(6_000)
  expect(await sent).toMatchObject({ outcome: 'handled' })
  expect(bench.errors).toMatchObject([
    { code: 'handler_timeout', handlers: ['save'] },
    { code: 'handler_abandoned', handlers: ['save'] },
  ])
  expect(await bench.send(event)).toMatchObject({ outcome: 'duplicate' })
  expect([runs(), store.rows]).toEqual([1, ['zoe']])
})

it('any error of the work of a transaction ends nothing but the handler', async () => {
  for (const thrown of [undefined, null, 'text', new Proxy({}, { has: () => expect.unreachable() })]) {
    const { bench, event } = scene((context) => context.transaction(() => Promise.reject(thrown)))
    expect(await bench.send(event)).toMatchObject({ outcome: 'failed', code: 'handler_failed' })
  }
})

/** Returns the key of the only claimed event. */
function keyOf(store: TransactionalStore): string {
  return store.keys.at(-1) ?? ''
}

it('work that returns an error is rolled back', async () => {
  const { bench, store } = scene(async (context) => {
    await context.transaction((tx: Tx) => {
      tx.write('zoe')
      return new Error('no')
    })
  })
  expect(await bench.send(events.contact.created())).toMatchObject({ outcome: 'failed', code: 'handler_failed' })
  expect([bench.errors[0]?.message, store.rows]).toEqual([expect.stringContaining('was returned'), []])
})

describe('work that returns a list of promises', () => {
  const writeAll = (tx: Tx) =>
    ['zoe', 'ada'].map(async (row) => {
      tx.write(row)
      await settle()
      throw new Error('outside the transaction')
    })

  it.each<[string, (tx: Tx) => unknown]>([
    ['at once', writeAll],
    ['later', async (tx) => writeAll(tx)],
  ])('%s is rolled back, even if its handler ignores it', async (_when, work) => {
    const { bench, store } = scene(async (context) => void (await context.transaction(work)))
    expect(await bench.send(events.contact.created())).toMatchObject({ outcome: 'failed', code: 'handler_failed' })
    expect(bench.errors).toMatchObject([
      { cause: { message: expect.stringContaining('context.transaction() returned a list of promises') } },
    ])
    expect(store.rows).toEqual([])
  })
})
