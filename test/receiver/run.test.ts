import type { Outcome, PosternError, WebhookEvent } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { Gate } from '../support/gate.ts'
import {
  answeringAfter,
  atOnce,
  type Behaviour,
  Bench,
  claimElsewhere,
  counting,
  delayedBy,
  gated,
  hanging,
  raise,
  rejecting,
  request,
  saying,
  settle,
  soon,
  throwing,
  watchRejections,
} from './support.ts'

watchRejections()

const outcomesOf = (bench: Bench) =>
  bench.outcomes.map(({ outcome, late, joined }) =>
    [outcome, ...(late ? ['late'] : []), ...(joined ? ['joined'] : [])].join(' '),
  )

describe.each<[string, Behaviour]>([
  ['at once', atOnce],
  ['by a promise', soon],
])('with a store that answers %s', (_how, usual) => {
  it('100 duplicates of a failing event run it once, all get its failure, and the next attempt runs it again', async () => {
    const bench = new Bench({ usual })
    const gate = new Gate()
    let runs = 0
    bench.receiver.on('*', () => (runs++ === 0 ? gate.promise : undefined))
    const event = events.contact.created()
    const replies = Array.from({ length: 100 }, () => bench.receiver.handle(request(event)))
    gate.fail(new Error('the database is down'))
    for (const reply of await Promise.all(replies))
      expect(reply).toMatchObject({ status: 500, body: `{"code":"handler_failed","id":"${event.id}"}` })
    expect(bench.outcomes.filter(({ joined }) => joined)).toHaveLength(99)
    expect([runs, bench.codes]).toEqual([1, ['handler_failed']])
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
    expect(runs).toBe(2)
  })

  it('a handler that outlives the deadline is answered 503, and its late success makes the retry a duplicate', async () => {
    const { bench, gate, runs } = gated({ usual })
    const event = events.contact.created()
    const sent = bench.send(event, { source: 'shop' })
    await bench.clock.advance(7_999)
    expect(bench.outcomes).toEqual([])
    await bench.clock.advance(1)
    expect(await sent).toMatchObject({ outcome: 'late', status: 503, id: event.id })
    await bench.clock.advance(4_000)
    gate.open(undefined)
    await bench.clock.advance(0)
    expect(outcomesOf(bench)).toEqual(['late', 'handled late'])
    expect(bench.outcomes).toMatchObject([
      { durationMs: 8_000, source: 'shop' },
      { durationMs: 12_000, source: 'shop' },
    ])
    expect(await bench.send(event)).toMatchObject({ outcome: 'duplicate', status: 200 })
    expect(runs).toHaveLength(1)
  })

  it('late failure releases the claim, and the retry runs', async () => {
    const { bench, gate, runs } = gated({ usual })
    const event = events.contact.created()
    const sent = bench.send(event)
    await bench.clock.advance(9_000)
    gate.fail(new Error('in the end'))
    await sent
    await bench.clock.advance(0)
    expect(outcomesOf(bench)).toEqual(['late', 'failed late'])
    expect(bench.codes).toEqual(['handler_failed'])
    expect(bench.store.count('release')).toBe(1)
    await bench.send(event)
    expect(runs).toHaveLength(2)
  })
})

describe('duplicates of a running event', () => {
  it('join one that is already late, and get its result within their own deadline', async () => {
    const { bench, gate, runs } = gated()
    const event = events.contact.created()
    const first = bench.send(event)
    await bench.clock.advance(30_000)
    expect((await first).outcome).toBe('late')
    const retry = bench.send(event)
    await bench.clock.advance(3_000)
    gate.open(undefined)
    expect(await retry).toMatchObject({ outcome: 'handled', status: 200, joined: true })
    expect(runs).toHaveLength(1)
    expect(outcomesOf(bench)).toEqual(['late', 'handled late', 'handled joined'])
  })

  it('are each answered at their own deadline', async () => {
    const { bench, gate } = gated()
    const event = events.contact.created()
    const answered: [string, number][] = []
    const note = (name: string, sent: Promise<Outcome>) =>
      sent.then(({ outcome }) => answered.push([`${name} ${outcome}`, bench.clock.monotonic()]))
    note('first', bench.send(event))
    await bench.clock.advance(2_000)
    note('second', bench.send(event))
    note('third', bench.send(event, { receivedAt: bench.clock.now() - 5_000 }))
    await bench.clock.advance(7_000)
    gate.open(undefined)
    await bench.clock.advance(0)
    expect(answered).toEqual([
      ['third late', 5_000],
      ['first late', 8_000],
      ['second handled', 9_000],
    ])
  })
})

describe('a claim that another process holds', () => {
  it('is requested again about once a second, and answered 409 at the deadline', async () => {
    const { bench } = counting()
    const event = events.contact.created()
    expect(claimElsewhere(bench, event)).toMatchObject({ state: 'claimed' })
    const sent = bench.send(event)
    await bench.clock.advance(7_999)
    expect(bench.outcomes).toEqual([])
    const times = bench.store.calls.map(({ at }) => at)
    expect(times).toEqual([0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000])
    await bench.clock.advance(1)
    expect(await sent).toMatchObject({ outcome: 'busy', status: 409, id: event.id })
    await bench.clock.advance(5_000)
    expect(bench.store.calls).toHaveLength(8)
  })

  it('results in 200 without a run if the other process succeeds meanwhile', async () => {
    const bench = new Bench()
    bench.receiver.on('*', () => expect.unreachable())
    const event = events.contact.created()
    const claim = claimElsewhere(bench, event)
    const sent = [bench.send(event), bench.send(event)]
    await bench.clock.advance(2_500)
    if ((await claim).state !== 'claimed') expect.unreachable()
    bench.store.inner.complete(
      `7:default4:acme${event.id.length}:${event.id}`,
      ((await claim) as { token: string }).token,
    ) // narrowed above
    await bench.clock.advance(1_000)
    expect((await Promise.all(sent)).map(({ outcome }) => outcome)).toEqual(['duplicate', 'duplicate'])
  })

  it('runs here if the other process dies meanwhile', async () => {
    const { bench, runs } = counting()
    const event = events.contact.created()
    claimElsewhere(bench, event, 4_500)
    expect(await bench.sendFor(5_000, event)).toMatchObject({ outcome: 'handled' })
    expect(runs()).toBe(1)
  })
})

describe('a store that fails at the claim', () => {
  it.each<[string, Behaviour]>([
    ['throws', throwing],
    ['rejects', rejecting],
    ['gives nothing', saying(undefined)],
    ['gives an unknown state', saying({ state: 'maybe' })],
    ['gives a claim without a token', saying({ state: 'claimed', marks: [] })],
    ['gives a claim without marks', saying({ state: 'claimed', token: 't' })],
  ])('that %s is answered 503 immediately, and no handler runs', async (_what, behaviour) => {
    const { bench, runs } = counting()
    bench.store.plan('claim', behaviour)
    const event = events.contact.created()
    const outcome = await bench.send(event)
    expect(outcome).toMatchObject({ outcome: 'failed', status: 503, code: 'store_unavailable', id: event.id })
    expect(bench.errors).toMatchObject([{ code: 'store_unavailable', cause: expect.any(Error) }])
    expect(bench.errors[0]?.message).toBe(
      'store.claim() failed or did not answer in time; no handler ran, and the sender may retry.',
    )
    expect(runs()).toBe(0)
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
  })

  it('that hangs is answered 503 after 3 s', async () => {
    const { bench } = counting()
    bench.store.plan('claim', hanging)
    const event = events.contact.created()
    const sent = [bench.send(event), bench.send(event)]
    await bench.clock.advance(2_999)
    expect(bench.outcomes).toEqual([])
    await bench.clock.advance(1)
    for (const outcome of await Promise.all(sent))
      expect(outcome).toMatchObject({ status: 503, code: 'store_unavailable' })
    expect(bench.codes).toEqual(['store_unavailable'])
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
  })

  it('that hangs is answered at the deadline if less than 3 s are left to it', async () => {
    const { bench } = counting()
    bench.store.plan('claim', hanging, hanging)
    const event = events.contact.created()
    const sent = [8, 7].map((s) => bench.send(event, { receivedAt: bench.clock.now() - s * 1_000 + 500 }))
    await bench.clock.advance(1_500)
    for (const outcome of await Promise.all(sent))
      expect(outcome).toMatchObject({ status: 503, code: 'store_unavailable' })
    expect(bench.codes).toEqual(['store_unavailable'])
  })

  it('that answers late: the claim is released with its marks', async () => {
    const bench = new Bench()
    const runs: string[] = []
    let isBroken = true
    bench.receiver
      .on('contact.created', () => void runs.push('first'))
      .on('*', () => {
        runs.push('second')
        if (isBroken) throw new Error('not yet')
      })
    const event = events.contact.created()
    expect(await bench.send(event)).toMatchObject({ status: 500 })
    bench.store.plan('claim', answeringAfter(4_000))
    expect(await bench.sendFor(3_000, event)).toMatchObject({ status: 503, code: 'store_unavailable' })
    await bench.clock.advance(1_000)
    expect(bench.store.marksOf('release')).toEqual([['contact.created'], ['contact.created']])
    isBroken = false
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
    expect(runs).toEqual(['first', 'second', 'second'])
  })
})

describe('a store that fails after the handlers succeeded', () => {
  it.each<[string, Behaviour, Behaviour]>([
    ['throws', throwing, soon],
    ['throws, with nothing that waits,', throwing, atOnce],
    ['rejects', rejecting, soon],
  ])(
    'and %s: 200, retried with back-off, and further deliveries here are duplicates meanwhile',
    async (_what, behaviour, usual) => {
      const { bench, runs } = counting({ usual })
      bench.store.plan('complete', behaviour, behaviour, behaviour, behaviour)
      const event = events.contact.created()
      expect(await bench.send(event)).toMatchObject({ outcome: 'handled', status: 200 })
      expect(bench.codes).toEqual(['store_unavailable'])
      expect(await bench.send(event)).toMatchObject({ outcome: 'duplicate', status: 200 })
      expect(bench.store.count('claim')).toBe(1)
      await bench.clock.advance(10_000)
      const times = bench.store.calls.filter(({ method }) => method === 'complete').map(({ at }) => at)
      expect(times).toEqual([0, 100, 300, 700, 1_500])
      expect(await bench.send(event)).toMatchObject({ outcome: 'duplicate' })
      expect(bench.store.count('claim')).toBe(2)
      expect(runs()).toBe(1)
    },
  )

  it('for over 60 s: the claim is renewed all the while, then it is given up and reported', async () => {
    const { bench } = counting()
    bench.store.plan('complete', ...Array<Behaviour>(80).fill(rejecting))
    const event = events.contact.created()
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
    await bench.clock.advance(59_000)
    expect(await bench.send(event)).toMatchObject({ outcome: 'duplicate' })
    const renewals = bench.store.calls.filter(({ method }) => method === 'renew').map(({ at }) => at)
    expect(renewals).toEqual([5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 35_000, 40_000, 45_000, 50_000, 55_000])
    expect(bench.store.marksOf('renew')[0]).toEqual(['*'])
    await bench.clock.advance(10_000)
    expect(bench.codes).toEqual(['store_unavailable', 'store_unavailable'])
    expect(bench.errors[1]?.message).toContain('the last try')
    const calls = bench.store.calls.length
    await bench.clock.advance(60_000)
    expect(bench.store.calls).toHaveLength(calls)
    expect(outcomesOf(bench)).toEqual(['handled', 'duplicate'])
  })

  it('by hanging: 200 after 3 s, and the renewals keep a short lease alive', async () => {
    const { bench } = counting({ leaseMs: 2_000 })
    bench.store.plan('complete', hanging, hanging)
    const event = events.contact.created()
    expect(await bench.sendFor(3_000, event)).toMatchObject({ outcome: 'handled', status: 200 })
    await bench.clock.advance(2_500)
    expect(claimElsewhere(bench, event)).toEqual({ state: 'busy' })
    await bench.clock.advance(5_000)
    expect(await bench.send(event)).toMatchObject({ outcome: 'duplicate' })
  })

  it('past the deadline of its delivery: 200, since the handlers have succeeded', async () => {
    const { bench, gate } = gated()
    bench.store.plan('complete', hanging)
    const sent = bench.send(events.contact.created())
    await bench.clock.advance(7_000)
    gate.open(undefined)
    await bench.clock.advance(1_000)
    expect(await sent).toMatchObject({ outcome: 'handled', status: 200 })
    await bench.clock.advance(5_000)
    expect(outcomesOf(bench)).toEqual(['handled'])
  })

  it('at the end of a late run: reported once more when it is stored', async () => {
    const { bench, gate } = gated()
    bench.store.plan('complete', rejecting)
    const event = events.contact.created()
    const sent = bench.send(event)
    await bench.clock.advance(9_000)
    gate.open(undefined)
    await bench.clock.advance(0)
    expect(await bench.send(event)).toMatchObject({ outcome: 'duplicate' })
    await bench.clock.advance(1_000)
    expect(await sent).toMatchObject({ outcome: 'late' })
    expect(outcomesOf(bench)).toEqual(['late', 'duplicate', 'handled late'])
  })

  it('by returning anything but true or false: 200, and the owner gets a report', async () => {
    const bench = new Bench()
    bench.receiver.on('contact.*', { name: 'mail' }, () => {})
    bench.store.plan('complete', saying(undefined))
    const event = events.contact.created()
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled', status: 200 })
    expect(bench.codes).toEqual(['store_unavailable'])
    expect(bench.errors[0]?.cause).toMatchObject({ message: 'it returned neither true nor false' })
    await bench.clock.advance(100)
    expect(bench.store.count('complete')).toBe(2)
  })
})

describe('a store that fails at the release', () => {
  it.each<[string, Behaviour, number]>([
    ['throws', throwing, 0],
    ['rejects', rejecting, 0],
    ['hangs', hanging, 3_000],
  ])('and %s: the answer stays 500, and the lease ends by itself', async (_what, behaviour, ms) => {
    const bench = new Bench()
    let runs = 0
    bench.receiver.on('*', () => {
      runs++
      if (runs === 1) throw new Error('once')
    })
    bench.store.plan('release', behaviour)
    const event = events.contact.created()
    expect(await bench.sendFor(ms, event)).toMatchObject({ status: 500, code: 'handler_failed' })
    expect(bench.codes).toEqual(['handler_failed', 'store_unavailable'])
    await bench.clock.advance(30_000)
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
  })
})

describe('waitUntil', () => {
  const handing = () => {
    const handed: Promise<unknown>[] = []
    const state = { ended: 0 }
    const waitUntil = (work: Promise<unknown>) => {
      handed.push(work)
      work.then(() => state.ended++)
    }
    return { handed, state, waitUntil }
  }

  it('is not used for work that ends in time', async () => {
    const { bench } = counting()
    const { handed, waitUntil } = handing()
    await bench.send(events.contact.created(), { waitUntil })
    expect(handed).toEqual([])
  })

  it('gets the work of each delivery that is answered late, until it is settled', async () => {
    const { bench, gate } = gated()
    bench.store.plan('complete', delayedBy(1_000))
    const event = events.contact.created()
    const { handed, state, waitUntil } = handing()
    const sent = [bench.send(event, { waitUntil }), bench.send(event, { waitUntil }), bench.send(event)]
    await bench.clock.advance(8_000)
    await Promise.all(sent)
    expect(handed).toHaveLength(2)
    gate.open(undefined)
    await bench.clock.advance(999)
    expect(state.ended).toBe(0)
    await bench.clock.advance(1)
    expect(state.ended).toBe(2)
  })

  it('gets the storing of a success that the store has not stored yet', async () => {
    const { bench } = counting()
    bench.store.plan('complete', rejecting, rejecting)
    const event = events.contact.created()
    const { handed, state, waitUntil } = handing()
    await bench.send(event, { waitUntil })
    await bench.send(event, { waitUntil })
    expect([handed.length, state.ended]).toEqual([2, 0])
    await bench.clock.advance(1_000)
    expect(state.ended).toBe(2)
  })

  it.each<[string, () => unknown]>([
    ['throws', raise(new Error('no context'))],
    ['rejects', () => Promise.reject(new Error('no context'))],
  ])('that %s is reported and changes nothing', async (_what, waitUntil) => {
    const { bench, gate } = gated()
    const sent = bench.send(events.contact.created(), { waitUntil: waitUntil as () => void }) // plain JavaScript may return anything
    await bench.clock.advance(8_000)
    expect(await sent).toMatchObject({ outcome: 'late' })
    expect(bench.codes).toEqual(['hook_failed'])
    expect(bench.errors[0]?.message).toContain('waitUntil')
    gate.open(undefined)
    await bench.clock.advance(0)
    expect(outcomesOf(bench)).toEqual(['late', 'handled late'])
  })
})

describe('a handler that dispatches its own event', () => {
  it.each<[string, Behaviour, (event: WebhookEvent<string, unknown>) => WebhookEvent<string, unknown>, boolean]>([
    ['while it is being begun', atOnce, ({ data: _data, ...event }) => ({ ...event, data: {} }), false],
    ['later, by the event that it was given', soon, (event) => event, true],
    ['later, by a copy of its event', soon, (event) => ({ ...event }), true],
    ['later, by its event with data of a class', soon, (event) => Object.assign(event, { data: new Date(0) }), true],
  ])('%s gets an error, and does not wait for itself', async (_when, usual, toEvent, isLater) => {
    const bench = new Bench({ usual })
    let code: unknown
    bench.receiver.on('*', async (event) => {
      if (isLater) await settle()
      code = await bench.receiver.dispatch(toEvent(event)).catch((error: PosternError) => error.code)
    })
    expect(await bench.send(events.contact.created())).toMatchObject({ outcome: 'handled' })
    expect(code).toBe('dispatch_within')
    expect(bench.codes).toEqual(['dispatch_within'])
  })

  it('through another event gets an error too', async () => {
    const bench = new Bench({ usual: atOnce })
    const [first, second] = [events.contact.created(), events.contact.created()]
    const codes: unknown[] = []
    bench.receiver.on('*', async ({ id }) => {
      const dispatched = bench.receiver.dispatch(id === first.id ? second : first)
      codes.push(
        await dispatched.then(
          ({ outcome }) => outcome,
          (error: PosternError) => error.code,
        ),
      )
    })
    expect(await bench.send(first)).toMatchObject({ outcome: 'handled' })
    expect(codes).toEqual(['dispatch_within', 'handled'])
  })
})

it('claims again if the delivery that asked had no time left, and one that joined it has', async () => {
  const bench = new Bench()
  const ran: unknown[] = []
  bench.receiver.on('*', ({ id }) => ran.push(id))
  bench.store.plan('claim', answeringAfter(500), answeringAfter(500))
  const event = events.contact.created()
  const hurried = bench.send(event, { receivedAt: bench.clock.now() - 7_900 })
  const joined = bench.send(event)
  await bench.clock.advance(100)
  expect(await hurried).toMatchObject({ outcome: 'failed', code: 'store_unavailable' })
  await bench.clock.advance(5_000)
  expect(await joined).toMatchObject({ outcome: 'handled', joined: true })
  expect([ran, bench.codes]).toEqual([[event.id], ['store_unavailable']])
})
