import fc from 'fast-check'
import { memoryStore, type Outcome, REJECTION_STATUS, type WebhookEvent } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import {
  answeringAfter,
  atOnce,
  type Behaviour,
  Bench,
  delayedBy,
  hanging,
  ManualClock,
  raise,
  rejecting,
  ScriptedStore,
  saying,
  settle,
  soon,
  thenable,
  throwing,
  watchRejections,
} from './support.ts'

watchRejections()

/** Runs a property so many times, or as often as fits into 300 ms, but at least 5 times. */
async function holds<T>(property: fc.IAsyncProperty<T>, most: number): Promise<void> {
  const isLong = process.env.LONG === '1'
  const endsAt = performance.now() + (isLong ? Number.POSITIVE_INFINITY : 300)
  const run = property.run.bind(property)
  let count = 0
  property.run = async (value) => (count++ < 5 || performance.now() < endsAt ? run(value) : null)
  await fc.assert(property, { numRuns: isLong ? most * 30 : most })
}

const STATUSES: ReadonlySet<number> = new Set([200, 409, 500, 503, ...Object.values(REJECTION_STATUS)])
const isOutcome = (outcome: Outcome) => STATUSES.has(outcome.status) && typeof outcome.outcome === 'string'

/** Any value that JavaScript can throw, in a box that makes it anew. */
const thrown: fc.Arbitrary<() => unknown> = fc.oneof(
  fc
    .constantFrom(undefined, null, '', 0, Number.NaN, false, Symbol('s'), Object.freeze({}))
    .map((value) => () => value),
  fc
    .anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true, withTypedArray: true })
    .map((value) => () => value),
  fc.string().map((message) => () => new Error(message)),
)

/** The ways in which a function of the owner may misbehave, and whether each is a failure. */
const misbehaviour: fc.Arbitrary<() => unknown> = thrown.chain((box) =>
  fc.constantFrom<() => unknown>(
    raise(box()),
    () => Promise.reject(box()),
    async () => {
      await settle()
      throw box()
    },
    () => thenable((_resolve, reject) => reject(box())),
  ),
)

/** Delivers while time advances, so that every wait ends. */
async function deliver(bench: Bench, event: WebhookEvent<string, unknown>): Promise<Outcome> {
  const sent = bench.send(event)
  await settle()
  await bench.clock.advance(10_000)
  return sent
}

describe('any thrown value', () => {
  it.each([
    [500, 'handler_failed', 'a handler'],
    [500, 'schema_failed', 'a schema'],
    [503, 'secrets_unavailable', 'a secrets function'],
  ])('is answered %i %s, and reported once: by %s', async (status, code, who) => {
    await holds(
      fc.asyncProperty(misbehaviour, fc.constantFrom(atOnce, soon), async (misbehave, usual) => {
        const contact = { '~standard': { version: 1, vendor: 'test', validate: misbehave } }
        const faulty = { 'a schema': { models: { contact } }, 'a secrets function': { secret: misbehave } }[who]
        const bench = new Bench({ usual, ...faulty })
        bench.receiver.on('contact.*', faulty ? () => expect.unreachable() : misbehave)
        expect(await deliver(bench, events.contact.created())).toMatchObject({ outcome: 'failed', status, code })
        expect(bench.codes).toEqual([code])
        await bench.expectAtRest()
      }),
      60,
    )
  })

  it('returned by a secrets function as a secret: never a 2xx, and a 401 only for nothing', async () => {
    await holds(
      fc.asyncProperty(thrown, fc.boolean(), async (box, isAsync) => {
        const given = box()
        const bench = new Bench({ secret: () => (isAsync ? Promise.resolve(given) : given) })
        bench.receiver.on('*', () => expect.unreachable('nothing is verified'))
        const outcome = await deliver(bench, events.contact.created())
        const isUsable = outcome.outcome === 'rejected' && outcome.code === 'signature_mismatch'
        if (given == null) expect(outcome).toMatchObject({ status: 401, code: 'unknown_source' })
        else if (!isUsable) expect(outcome).toMatchObject({ status: 503, code: 'secrets_unavailable' })
        await bench.expectAtRest()
      }),
      60,
    )
  })

  it('by a store, at any call: an outcome, and a 2xx only if the handler ran', async () => {
    await holds(
      fc.asyncProperty(
        misbehaviour,
        fc.constantFrom('claim', 'renew', 'complete', 'release'),
        fc.integer({ min: 0, max: 12_000 }),
        fc.boolean(),
        async (misbehave, method, ms, fails) => {
          const bench = new Bench()
          let ended = 0
          bench.receiver.on('*', async () => {
            await new Promise<void>((resolve) => bench.clock.setTimeout(resolve, ms))
            ended++
            if (fails) throw new Error('no')
          })
          bench.store.plan(method as 'claim', misbehave as Behaviour) // a custom store may do anything
          const sent = bench.send(events.syncCompleted())
          await bench.clock.advance(100_000)
          const outcome = await sent
          expect(isOutcome(outcome)).toBe(true)
          if (outcome.status === 200) expect([ended, fails]).toEqual([1, false])
          await bench.expectAtRest()
        },
      ),
      60,
    )
  })
})

describe('any ids and types', () => {
  it('are handled once for each account and id, by the handlers of their type', async () => {
    const odd = fc.constantFrom(
      '__proto__',
      'constructor',
      'toString',
      '*',
      'a.*',
      'a.created',
      'a.b.c.created',
      'error',
    )
    const text = fc.oneof(odd, fc.string({ minLength: 1, maxLength: 12 }))
    const name = fc.record({ id: text, type: text, accountKey: text })
    await holds(
      fc.asyncProperty(fc.array(name, { minLength: 1, maxLength: 8 }), async (names) => {
        const bench = new Bench()
        const types: string[] = []
        const done = new Map<string, string>()
        bench.receiver.on('*', ({ type }) => void types.push(type))
        for (const { id, type, accountKey } of names) {
          const key = JSON.stringify([accountKey, id])
          const data = { record: { _id: '1' } } // fits every type, those about records too
          const outcome = await bench.send({ id, type, timestamp: '2025-01-01T00:00:00Z', accountKey, data })
          expect(outcome).toMatchObject({ outcome: done.has(key) ? 'duplicate' : 'handled', status: 200 })
          done.set(key, done.get(key) ?? type)
        }
        expect(types).toEqual([...done.values()])
        await bench.expectAtRest()
      }),
      60,
    )
  })
})

// ── Interleavings ──────────────────────────────────────────────────────────────────────────────────────────────────

type Ending = 'at once' | 'throws' | 'soon' | 'fails soon' | 'slow' | 'fails slowly' | 'until aborted' | 'for ever'

type Step =
  | { readonly do: 'send'; readonly process: number; readonly event: number }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'block'; readonly ms: number }
  | {
      readonly do: 'plan'
      readonly process: number
      readonly method: 'claim' | 'renew' | 'complete' | 'release'
      readonly behaviour: Behaviour
    }

const GENTLE: readonly Ending[] = ['at once', 'throws', 'soon', 'fails soon', 'slow', 'fails slowly', 'until aborted']
const HANDLERS = ['a', 'b', 'c']

const endings = (of: readonly Ending[]) => fc.array(fc.constantFrom(...of), { minLength: 4, maxLength: 16 })
const send = fc.record({ do: fc.constant('send' as const), process: fc.nat(1), event: fc.nat(2) })
const advance = fc.record({
  do: fc.constant('advance' as const),
  ms: fc.constantFrom(0, 1, 50, 400, 1_000, 3_000, 8_000, 30_000),
})
const plan = (method: fc.Arbitrary<'claim' | 'renew' | 'complete' | 'release'>, of: readonly Behaviour[]) =>
  fc.record({ do: fc.constant('plan' as const), process: fc.nat(1), method, behaviour: fc.constantFrom(...of) })

const FAULTS: readonly Behaviour[] = [
  throwing,
  rejecting,
  hanging,
  answeringAfter(2_000),
  answeringAfter(4_000),
  delayedBy(1_000),
  delayedBy(5_000),
]

/** Two processes on one engine, whose handlers end as planned; all their runs are recorded. */
class Cluster {
  readonly clock = new ManualClock()
  readonly benches: readonly Bench[]
  readonly sent: Promise<void>[] = []
  readonly breaches: string[] = []
  readonly #done = new Map<string, Set<string>>()
  readonly #endings: Ending[]
  readonly #stores: readonly ScriptedStore[]
  readonly events = [events.syncCompleted(), events.syncCompleted(), events.syncCompleted()]

  constructor(planned: readonly Ending[], usual: Behaviour) {
    this.#endings = [...planned]
    const engine = memoryStore({ clock: this.clock })
    this.#stores = [0, 1].map(() => new ScriptedStore(this.clock, usual, engine))
    this.benches = this.#stores.map((store) => new Bench({ clock: this.clock, store, handlerTimeoutMs: 10_000 }))
    for (const { receiver } of this.benches)
      for (const name of HANDLERS)
        receiver.on('*', { name }, ({ id }, { signal }) => {
          if (this.#isDone(id, name)) this.breaches.push(`${name} ran again for ${id} after it had succeeded`)
          return this.#end(this.#endings.shift() ?? 'at once', id, name, signal)
        })
  }

  async take(step: Step): Promise<void> {
    if (step.do === 'advance') return this.clock.advance(step.ms)
    if (step.do === 'block') return this.clock.block(step.ms)
    if (step.do === 'plan') return void this.#stores[step.process]?.plan(step.method, step.behaviour)
    const bench = this.benches[step.process]
    const event = this.events[step.event]
    if (bench !== undefined && event !== undefined)
      this.sent.push(bench.send(event).then((outcome) => this.#judge(event.id, outcome)))
  }

  /** Lets everything end, and checks the rest. */
  async finish(): Promise<void> {
    await this.clock.advance(300_000)
    await Promise.all(this.sent)
    for (const bench of this.benches) {
      const closing = bench.receiver.close({ timeoutMs: 0 })
      await this.clock.advance(0)
      expect(await closing).toEqual({ unfinished: 0 })
    }
    expect(this.clock.pending).toBe(0)
  }

  #judge(id: string, outcome: Outcome): void {
    if (!isOutcome(outcome)) this.breaches.push(`not an outcome: ${JSON.stringify(outcome)}`)
    if (outcome.status !== 200) return
    for (const name of HANDLERS)
      if (!this.#isDone(id, name))
        this.breaches.push(`${outcome.outcome} (200) for ${id}, but ${name} has not succeeded`)
  }

  #isDone(id: string, name: string): boolean {
    return this.#done.get(id)?.has(name) ?? false
  }

  #succeed(id: string, name: string): void {
    const names = this.#done.get(id) ?? new Set()
    this.#done.set(id, names.add(name))
  }

  #end(ending: Ending, id: string, name: string, signal: AbortSignal): unknown {
    const wait = (ms: number) => new Promise<void>((resolve) => this.clock.setTimeout(resolve, ms))
    const fail = raise(new Error(ending))
    const succeed = () => this.#succeed(id, name)
    switch (ending) {
      case 'at once':
        return succeed()
      case 'throws':
        return fail()
      case 'soon':
        return wait(300).then(succeed)
      case 'fails soon':
        return wait(300).then(fail)
      case 'slow':
        return wait(9_000).then(succeed)
      case 'fails slowly':
        return wait(9_000).then(fail)
      case 'until aborted':
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      case 'for ever':
        return new Promise(() => {})
    }
  }
}

describe('random interleavings of duplicates, failures and faults in two processes', () => {
  const play = async (planned: readonly Ending[], usual: Behaviour, steps: readonly Step[]) => {
    const cluster = new Cluster(planned, usual)
    for (const step of steps) await cluster.take(step)
    await cluster.finish()
    return cluster.breaches
  }

  it('a 2xx only if every handler succeeded; none runs again after success; every run ends', async () => {
    const steps = fc.array(
      fc.oneof(
        { weight: 4, arbitrary: send },
        { weight: 4, arbitrary: advance },
        { weight: 1, arbitrary: plan(fc.constant('claim' as const), [...FAULTS, saying({ state: 'busy' })]) },
        {
          weight: 1,
          arbitrary: plan(fc.constant('complete' as const), [
            throwing,
            rejecting,
            answeringAfter(2_000),
            answeringAfter(4_000),
          ]),
        },
      ),
      { minLength: 2, maxLength: 30 },
    )
    await holds(
      fc.asyncProperty(
        endings(GENTLE),
        fc.constantFrom(atOnce, soon, delayedBy(20)),
        steps,
        async (planned, usual, taken) => {
          expect(await play(planned, usual, taken)).toEqual([])
        },
      ),
      60,
    )
  })

  it('with any fault of the store, stalls and handlers that never end: still no early 2xx, and every run ends', async () => {
    const steps = fc.array(
      fc.oneof(
        { weight: 4, arbitrary: send },
        { weight: 4, arbitrary: advance },
        {
          weight: 1,
          arbitrary: fc.record({ do: fc.constant('block' as const), ms: fc.constantFrom(2_000, 20_000, 60_000) }),
        },
        {
          weight: 3,
          arbitrary: plan(fc.constantFrom('claim', 'renew', 'complete', 'release'), [
            ...FAULTS,
            saying(false),
            saying(undefined),
            saying({ state: 'busy' }),
          ]),
        },
      ),
      { minLength: 2, maxLength: 30 },
    )
    await holds(
      fc.asyncProperty(
        endings([...GENTLE, 'for ever']),
        fc.constantFrom(atOnce, soon, delayedBy(20)),
        steps,
        async (planned, usual, taken) => {
          const breaches = await play(planned, usual, taken)
          expect(breaches.filter((breach) => !breach.includes('ran again'))).toEqual([])
        },
      ),
      60,
    )
  })
})

describe('handlers that take only the latest', () => {
  const MINUTE = 60_000
  const change = fc.record({
    minute: fc.integer({ min: 0, max: 5 }),
    record: fc.constantFrom('a', 'b'),
    isDeletion: fc.boolean(),
    fails: fc.boolean(),
    isReadable: fc.integer({ min: 0, max: 9 }).map((chance) => chance > 0),
  })

  it('run for every event except those that are older than one of the record that they completed', async () => {
    await holds(
      fc.asyncProperty(fc.array(change, { maxLength: 25 }), fc.constantFrom(atOnce, soon), async (changes, usual) => {
        const bench = new Bench({ usual })
        const latest = new Map<string, number>()
        let now = changes[0]
        let ran = false
        bench.receiver.on('contact.*', { order: 'latest' }, () => {
          ran = true
          if (now?.fails) throw new Error('told to fail')
        })
        for (now of changes) {
          const { minute, record, isDeletion, fails, isReadable } = now
          const timestamp = isReadable ? new Date(Date.UTC(2025, 0, 1) + minute * MINUTE).toISOString() : 'soon'
          const event = isDeletion
            ? events.contact.deleted(record, { timestamp })
            : events.contact.updated({ _id: record }, { timestamp })
          ran = false
          const isOutdated = isReadable && (latest.get(record) ?? -1) > minute
          const outcome = await bench.send(event)
          expect(ran).toBe(!isOutdated)
          expect(outcome.skipped).toEqual(isOutdated ? ['contact.*'] : undefined)
          expect(outcome.outcome).toBe(fails && !isOutdated ? 'failed' : 'handled')
          if (isReadable && !isOutdated && !fails) latest.set(record, minute)
        }
        await bench.expectAtRest()
      }),
      60,
    )
  })
})
