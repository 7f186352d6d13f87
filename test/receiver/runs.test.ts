import { events, manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { Gate } from '../support/gate.ts'
import {
  answeringAfter,
  Bench,
  counting,
  delayedBy,
  gated,
  hanging,
  rejecting,
  saying,
  settle,
  watchRejections,
} from './support.ts'

watchRejections()

describe('closing', () => {
  it('waits for running events, refuses others, and lets duplicates join', async () => {
    const { bench, gate, runs } = gated()
    const event = events.contact.created()
    const first = bench.send(event)
    await bench.clock.advance(10)
    const closing = bench.receiver.close()
    const copy = bench.send(event)
    expect(await bench.send(events.contact.created())).toMatchObject({ outcome: 'closing', status: 503 })
    expect(await bench.send(event, { tamper: 'flip-bit' })).toMatchObject({ status: 401 })
    await bench.clock.advance(1_000)
    gate.open(undefined)
    expect(await closing).toEqual({ unfinished: 0 })
    expect(await first).toMatchObject({ outcome: 'handled' })
    expect(await copy).toMatchObject({ outcome: 'handled', joined: true })
    expect(runs).toEqual([event.id])
  })

  it.each([
    [3_000, { timeoutMs: 3_000 }],
    [10_000, undefined],
  ])('reports unfinished runs after %i ms: %j; they continue, keep their claim, and are done', async (ms, options) => {
    const { bench, gate } = gated()
    const event = events.contact.created()
    const sent = [bench.send(event), bench.send(events.contact.created())]
    await bench.clock.advance(10)
    const closing = bench.receiver.close(options)
    await bench.clock.advance(ms - 1)
    expect(await Promise.race([closing, 'waiting'])).toBe('waiting')
    await bench.clock.advance(1)
    expect(await closing).toEqual({ unfinished: 2 })
    await bench.clock.advance(13_000 - ms)
    expect(bench.store.count('renew')).toBe(4)
    gate.open(undefined)
    await Promise.all(sent)
    await bench.clock.advance(0)
    expect(bench.store.count('complete')).toBe(2)
  })

  it('releases a claim whose handlers have not begun', async () => {
    const { bench, runs } = gated()
    bench.store.plan('claim', delayedBy(500))
    const event = events.contact.created()
    const sent = bench.send(event)
    await bench.clock.advance(100)
    const closing = bench.receiver.close()
    await bench.clock.advance(400)
    expect(await sent).toMatchObject({ outcome: 'closing', status: 503, id: event.id })
    expect(await closing).toEqual({ unfinished: 0 })
    expect(bench.store.calls.map(({ method }) => method)).toEqual(['claim', 'release'])
    expect(runs).toEqual([])
  })

  it('ends the wait for a claim that another process holds', async () => {
    const { bench } = gated()
    bench.store.plan('claim', saying({ state: 'busy' }))
    const sent = bench.send(events.contact.created())
    await bench.clock.advance(100)
    const closing = bench.receiver.close()
    await bench.clock.advance(900)
    expect(await sent).toMatchObject({ outcome: 'closing', status: 503 })
    expect(await closing).toEqual({ unfinished: 0 })
    expect(bench.store.count('claim')).toBe(1)
  })

  it('waits for a success that the store has not stored yet', async () => {
    const { bench } = counting()
    bench.store.plan('complete', rejecting, rejecting)
    const event = events.contact.created()
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
    const closing = bench.receiver.close()
    expect(await bench.send(event)).toMatchObject({ outcome: 'duplicate' })
    await bench.clock.advance(300)
    expect(await closing).toEqual({ unfinished: 0 })
    expect(bench.store.count('complete')).toBe(3)
  })
})

describe('the bytes of events under way', () => {
  const KIB = 1_024
  /** A sixteenth of the default, for events of a sixteenth of the default `maxBodyBytes`. */
  const small = { maxBufferedBytes: 4_096 * KIB }
  const of = (accountKey: string, bytes = 0) =>
    events.contact.created({ firstName: 'x'.repeat(Math.max(bytes - 500, 0)) }, { accountKey })

  /** Sends 60 events, and returns how many have begun. */
  async function fill(bench: Bench, accountKey: string, bytes = 64 * KIB) {
    const before = bench.outcomes.length
    const sent = Array.from({ length: 60 }, () => bench.send(of(accountKey, bytes)))
    await bench.clock.advance(10)
    const refused = bench.outcomes.slice(before)
    for (const outcome of refused) expect(outcome).toMatchObject({ outcome: 'overloaded', status: 503, accountKey })
    return { sent, begun: sent.length - refused.length }
  }

  /** Sends events while the handlers of the events before them run, and returns the outcomes of all. */
  async function sendAll(options: Record<string, unknown>, handlers: number, sent: readonly ReturnType<typeof of>[]) {
    const gate = new Gate<unknown>()
    const bench = new Bench(options)
    for (let count = 0; count < handlers; count++)
      bench.receiver.on('contact.created', { name: `handler-${count}` }, () => gate.promise)
    const answers = sent.map((event) => bench.send(event))
    await bench.clock.advance(4_000)
    gate.open(undefined)
    return (await Promise.all(answers)).map(({ outcome }) => outcome)
  }
  const many = (accountKey: string, count = 30) => Array.from({ length: count }, () => of(accountKey, 1_000))

  it.each([
    [8, 1_000, {}],
    [1, 1_000, {}],
    [40, 1_000, {}],
    [8, 4_000, { maxBodyBytes: 4_096 * KIB }],
    [1, 20_000, { maxBodyBytes: 20_480 * KIB }],
    [8, 1_000, { maxBufferedBytes: 4_096 * KIB }],
  ])(
    'let a large event run beside small ones, and small ones beside it: %i handlers, %i kB, %o',
    async (handlers, kB, options) => {
      const large = of('acme', kB * 1_000)
      for (const sent of [
        [large, ...many('acme')],
        [...many('acme'), large],
        [...many('acme', 15), large, ...many('acme', 15), of('globex', kB * 1_000), ...many('globex', 15)],
      ])
        expect(await sendAll(options, handlers, sent)).toEqual(sent.map(() => 'handled'))
    },
  )

  it('tell the owner which limit was reached, and the option to raise', async () => {
    const { bench, gate } = gated(small)
    const { sent } = await fill(bench, 'acme')
    const [first] = bench.outcomes
    expect(first).toMatchObject({
      reason: expect.stringMatching(/bytes \(its length × its handlers.*raise maxBufferedBytes/),
    })
    expect(bench.lines[0]?.message).toMatch(/delivery deferred: The event needs 65\d+ bytes .* raise maxBufferedBytes/)
    gate.open(undefined)
    await Promise.all(sent)
  })

  it('count once for each handler, and once more for a schema', async () => {
    const gate = new Gate<unknown>()
    const schema = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } }
    const bench = new Bench({ ...small, models: { contact: schema } })
    for (const name of ['a', 'b', 'c']) bench.receiver.on('contact.created', { name }, () => gate.promise)
    const { sent, begun } = await fill(bench, 'acme', 16 * KIB)
    expect(begun).toBe(6)
    gate.open(undefined)
    await Promise.all(sent)
  })

  it('let an event run whose handlers alone would exceed the limit, and leave room beside it', async () => {
    const { bench, gate } = gated()
    for (let count = 0; count < 20; count++)
      bench.receiver.on('contact.created', { name: `handler-${count}` }, () => gate.promise)
    const large = of('acme', 1_024 * KIB)
    // A duplicate joins, and an event of the app does not count.
    const sent = [bench.send(large), bench.send(large), bench.receiver.dispatch(of('acme', 1_024 * KIB))]
    await bench.clock.advance(10)
    expect(await bench.send(of('acme', 1_024 * KIB))).toMatchObject({ outcome: 'overloaded' })
    sent.push(bench.send(of('globex', 1_024 * KIB)))
    gate.open(undefined)
    for (const each of sent) expect(await each).toMatchObject({ outcome: 'handled' })
  })
})

describe('maxInFlight', () => {
  const of = (accountKey: string) => events.contact.created({}, { accountKey })

  it('is the number of events under way: more are overloaded, and duplicates do not count', async () => {
    const { bench, gate, runs } = gated({ maxInFlight: 2 })
    const [a, b] = [of('acme'), of('globex')]
    const sent = [bench.send(a), bench.send(a), bench.send(b)]
    await bench.clock.advance(10)
    expect(await bench.send(events.contact.created())).toMatchObject({ outcome: 'overloaded', status: 503 })
    sent.push(bench.send(a))
    expect(await bench.send(events.syncCompleted())).toMatchObject({ outcome: 'ignored' })
    expect(await bench.send(a, { tamper: 'flip-bit' })).toMatchObject({ status: 401 })
    gate.open(undefined)
    for (const outcome of await Promise.all(sent)) expect(outcome).toMatchObject({ outcome: 'handled' })
    expect(await bench.send(events.contact.created())).toMatchObject({ outcome: 'handled' })
    expect(runs).toHaveLength(3)
    expect(bench.store.count('claim')).toBe(3)
  })

  it('counts handlers that run on after their answer', async () => {
    const { bench, gate } = gated({ maxInFlight: 1 })
    expect(await bench.sendFor(8_000, events.contact.created())).toMatchObject({ outcome: 'late' })
    expect(await bench.send(events.contact.created())).toMatchObject({ outcome: 'overloaded' })
    gate.open(undefined)
    await bench.clock.advance(0)
    expect(await bench.send(events.contact.created())).toMatchObject({ outcome: 'handled' })
  })

  it('is filled by no account alone, nor by two: each gets four fifths of the rest', async () => {
    const { bench, gate } = gated({ maxInFlight: 100 })
    const sent: Promise<unknown>[] = []
    const fill = async (accountKey: string) => {
      for (let count = 0; ; count++) {
        const answer = bench.send(of(accountKey))
        const first = await Promise.race([answer, settle()])
        if (first !== undefined) {
          expect(first).toMatchObject({ outcome: 'overloaded', accountKey })
          return count
        }
        sent.push(answer)
      }
    }
    expect([await fill('acme'), await fill('globex'), await fill('initech')]).toEqual([80, 16, 4])
    gate.open(undefined)
    await bench.clock.advance(0)
    expect(await Promise.all(sent)).toHaveLength(100)
    expect(await bench.send(of('acme'))).toMatchObject({ outcome: 'handled' })
  })

  it.each([2, 3, 4, 5])('of %i leaves a place to other accounts', async (maxInFlight) => {
    const { bench, gate } = gated({ maxInFlight })
    const sent = Array.from({ length: maxInFlight - 1 }, () => bench.send(of('acme')))
    expect(await bench.send(of('acme'))).toMatchObject({ outcome: 'overloaded' })
    sent.push(bench.send(of('globex')))
    gate.open(undefined)
    for (const each of sent) expect(await each).toMatchObject({ outcome: 'handled' })
  })

  it('lets 100 duplicates of one event wait, and answers the others busy immediately', async () => {
    const { bench, gate } = gated({ maxInFlight: 2 })
    const recorded = of('acme')
    const replays = Array.from({ length: 1_000 }, () => bench.send(recorded))
    const other = bench.send(of('globex'))
    await bench.clock.advance(0)
    expect(bench.outcomes).toHaveLength(899)
    expect(new Set(bench.outcomes.map(({ status, outcome }) => `${status} ${outcome}`))).toEqual(new Set(['409 busy']))
    gate.open(undefined)
    expect(await other).toMatchObject({ outcome: 'handled' })
    const outcomes = await Promise.all(replays)
    expect(outcomes.filter(({ outcome }) => outcome === 'handled')).toHaveLength(101)
  })
})

describe('maxAge', () => {
  const aged = (bench: Bench, ageMs: number) =>
    events.syncCompleted(undefined, { timestamp: new Date(bench.clock.now() - ageMs).toISOString() })

  it('refuses events that are older by their signed time with 422, and those without a time', async () => {
    const { bench, runs } = counting({ maxAge: 3 * 3_600_000 })
    expect(await bench.send(aged(bench, 3 * 3_600_000))).toMatchObject({ outcome: 'handled' })
    expect(await bench.send(aged(bench, -600_000))).toMatchObject({ outcome: 'handled' })
    const old = aged(bench, 3 * 3_600_000 + 1)
    expect(await bench.send(old)).toMatchObject({ outcome: 'rejected', status: 422, code: 'event_too_old', id: old.id })
    expect(await bench.send(events.syncCompleted({}, { timestamp: 'yesterday' }))).toMatchObject({ status: 422 })
    expect(runs()).toBe(2)
    expect(bench.store.count('claim')).toBe(2)
  })

  it('is off by default', async () => {
    const { bench } = counting()
    expect(await bench.send(aged(bench, 3 * 86_400_000))).toMatchObject({ outcome: 'handled' })
    expect(await bench.send(events.syncCompleted({}, { timestamp: '' }))).toMatchObject({ outcome: 'handled' })
  })
})

describe('no registered handler', () => {
  it('is the app’s mistake: 500, never success, with the fix in the log once', async () => {
    const bench = new Bench()
    for (let count = 0; count < 3; count++)
      expect(await bench.send(events.contact.created())).toMatchObject({
        outcome: 'error',
        status: 500,
        code: 'no_handlers',
      })
    expect(bench.codes).toEqual(['no_handlers', 'no_handlers', 'no_handlers'])
    const lines = bench.lines.filter(({ level }) => level === 'error')
    expect(lines).toHaveLength(1)
    expect(lines[0]?.message).toContain('import it before the receiver is mounted')
    expect(bench.store.calls).toEqual([])
    expect(await bench.send(events.contact.created(), { tamper: 'flip-bit' })).toMatchObject({ status: 401 })
  })

  it('does not end the registration: nothing was acknowledged', async () => {
    const bench = new Bench()
    const event = events.contact.created()
    await bench.send(event)
    bench.receiver.on('contact.created', () => {})
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
  })
})

describe('a run that its host cut off', () => {
  /** Timers stop, as on hosts that freeze the rest of a finished request. */
  function freezableClock() {
    const clock = Object.assign(manualClock(), { isFrozen: false })
    const { setTimeout } = clock
    return Object.assign(clock, {
      setTimeout: (callback: () => void, ms: number) => setTimeout.call(clock, () => clock.isFrozen || callback(), ms),
    })
  }

  function freezing(options = {}) {
    const clock = freezableClock()
    const bench = new Bench({ clock, ...options })
    bench.leave() // the frozen run keeps its timers
    const runs: string[] = []
    bench.receiver.on('*', { name: 'slow' }, (event) => {
      runs.push(event.id)
      return clock.isFrozen || runs.length > 1 ? undefined : new Promise(() => {})
    })
    return { bench, clock, runs }
  }

  it('blocks nothing: once its lease must have ended, a duplicate starts again, and the owner gets a report', async () => {
    const { bench, clock, runs } = freezing()
    const event = events.contact.created()
    const sent = bench.send(event)
    await clock.advance(8_000)
    expect(await sent).toMatchObject({ outcome: 'late' })
    clock.isFrozen = true
    await clock.advance(30_000)
    clock.isFrozen = false
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
    expect(bench.codes).toEqual(['handler_abandoned'])
    expect(bench.errors[0]).toMatchObject({ handlers: ['slow'], eventId: event.id })
    expect(bench.errors[0]?.message).toContain('waitUntil')
    expect(runs).toEqual([event.id, event.id])
    expect(await bench.receiver.close()).toEqual({ unfinished: 0 })
  })

  it('and that resumes is fenced off, and does not disturb the new one', async () => {
    const clock = freezableClock()
    const bench = new Bench({ clock })
    const gates = [new Gate<unknown>(), new Gate<unknown>()]
    let runs = 0
    bench.receiver.on('*', () => gates[runs++]?.promise)
    const event = events.contact.created()
    const sent = [bench.send(event)]
    await clock.advance(8_000)
    clock.isFrozen = true
    await clock.advance(30_000)
    clock.isFrozen = false
    sent.push(bench.send(event))
    await clock.advance(10)
    gates[0]?.open(undefined)
    await clock.advance(10)
    sent.push(bench.send(event))
    await clock.advance(8_000)
    expect((await Promise.all(sent)).map(({ outcome }) => outcome)).toEqual(['late', 'late', 'late'])
    const closing = bench.receiver.close()
    await clock.advance(10)
    expect(await Promise.race([closing, 'waiting'])).toBe('waiting')
    gates[1]?.open(undefined)
    await closing
    expect(bench.outcomes.at(-1)).toMatchObject({ outcome: 'handled', late: true })
    expect([runs, bench.codes]).toEqual([2, ['handler_abandoned', 'lease_lost']])
  })

  it.each([
    ['a claim that hangs', (bench: Bench) => bench.store.plan('claim', hanging)],
    ['a claim that comes late', (bench: Bench) => bench.store.plan('claim', answeringAfter(7_000))],
    ['a handler that takes its 60 s', () => {}],
  ])('is not confused with one that continues: %s', async (_what, plan) => {
    const { bench, gate } = gated()
    plan(bench)
    const event = events.contact.created()
    for (let seconds = 0; seconds < 60; seconds += 5) {
      bench.send(event)
      await bench.clock.advance(5_000)
    }
    expect(bench.codes.filter((code) => code === 'handler_abandoned')).toEqual([])
    gate.open(undefined)
    await bench.clock.advance(10_000)
  })
})

it('keeps undocumented fields of the envelope, beside the model and the action of its type, which no field replaces', async () => {
  const bench = new Bench()
  let seen: unknown
  bench.receiver.on('contact.created', (event) => {
    seen = event
  })
  const event = events.contact.created()
  await bench.send(Object.assign({}, event, { apiVersion: '7', model: 7, action: {} }))
  expect(seen).toEqual({ ...event, apiVersion: '7', model: 'contact', action: 'created' })
})
