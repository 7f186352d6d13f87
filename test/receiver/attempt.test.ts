import { runInNewContext } from 'node:vm'
import { DeadLetter, HandlerError, RetryLater, type StandardSchema, systemClock } from 'postern'
import { events, signed } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Gate } from '../support/gate.ts'
import { atOnce, Bench, raise, SECRET, settle, soon, thenable, watchRejections } from './support.ts'

watchRejections()

const schema = (validate: (value: unknown) => unknown): StandardSchema => ({
  '~standard': { version: 1, vendor: 'test', validate: validate as never }, // plain JavaScript may return anything
})

describe('several handlers', () => {
  it('get what was signed, even if the app reuses its buffer while the store is asked', async () => {
    const bench = new Bench({ usual: soon })
    const seen: unknown[] = []
    for (const name of ['a', 'b']) bench.receiver.on('sync.completed', { name }, (event) => void seen.push(event))
    const event = events.syncCompleted()
    const delivery = signed(event, { secret: SECRET })
    const sent = bench.receiver.receive(delivery)
    delivery.body.fill(0x20)
    await bench.clock.advance(10)
    expect(await sent).toMatchObject({ outcome: 'handled' })
    expect(seen).toEqual([event, event])
  })

  it('run concurrently, and all are awaited', async () => {
    const bench = new Bench()
    const gates = [new Gate(), new Gate()]
    const steps: string[] = []
    for (const [index, gate] of gates.entries())
      bench.receiver.on('sync.completed', { name: `h${index}` }, async () => {
        steps.push(`begin ${index}`)
        await gate.promise
        steps.push(`end ${index}`)
      })
    const sent = bench.send(events.syncCompleted())
    await bench.clock.advance(10)
    expect(steps).toEqual(['begin 0', 'begin 1'])
    gates[1]?.open()
    await bench.clock.advance(10)
    expect(bench.outcomes).toEqual([])
    gates[0]?.open()
    expect(await sent).toMatchObject({ outcome: 'handled' })
    expect(steps).toEqual(['begin 0', 'begin 1', 'end 1', 'end 0'])
  })

  it.each([
    ['at once', atOnce],
    ['by a promise', soon],
  ])('that fail in part: the retry runs the failed ones only (store answers %s)', async (_how, usual) => {
    const bench = new Bench({ usual })
    const runs: Record<string, number> = {}
    const failing = new Set(['b', 'd'])
    for (const name of ['a', 'b', 'c', 'd'])
      bench.receiver.on('sync.completed', { name }, () => {
        runs[name] = (runs[name] ?? 0) + 1
        if (failing.has(name) && name === 'b') throw new Error('b is down')
        return failing.has(name) ? Promise.reject(new Error('d is down')) : undefined
      })
    const event = events.syncCompleted()
    const outcome = await bench.send(event)
    expect(outcome).toMatchObject({ outcome: 'failed', status: 500, code: 'handler_failed' })
    const [error] = bench.errors
    expect(error).toBeInstanceOf(HandlerError)
    expect(error).toMatchObject({ handlers: ['b', 'd'], eventId: event.id, eventType: 'sync.completed' })
    const errors = [new Error('b is down'), new Error('d is down')]
    expect(error).toMatchObject({ cause: { message: 'b: b is down; d: d is down', errors } })
    expect(bench.store.marksOf('release')).toEqual([['a', 'c']])
    failing.delete('b')
    expect(await bench.send(event)).toMatchObject({ status: 500 })
    expect(bench.errors[1]).toMatchObject({ handlers: ['d'], cause: new Error('d is down') })
    failing.clear()
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
    expect(runs).toEqual({ a: 1, b: 2, c: 1, d: 3 })
  })

  it('of which none is left to run: the event is completed', async () => {
    const bench = new Bench()
    let isBroken = true
    bench.receiver
      .on('sync.completed', () => {})
      .on('*', { name: 'gone-soon' }, () => {
        if (isBroken) throw new Error('broken for good')
      })
    const event = events.syncCompleted()
    expect(await bench.send(event)).toMatchObject({ status: 500 })
    await bench.receiver.close()
    isBroken = false
    const next = new Bench({ store: bench.store, clock: bench.clock })
    next.receiver.on('sync.completed', () => expect.unreachable('it finished before the deployment'))
    expect(await next.send(event)).toMatchObject({ outcome: 'handled' })
    expect(await next.send(event)).toMatchObject({ outcome: 'duplicate' })
  })
})

describe('the event that a handler gets', () => {
  const change = (event: { data: { record: { email?: unknown; _id?: unknown }; added?: unknown } }) => {
    event.data.record.email = 'changed'
    delete event.data.record._id
    event.data.added = true
  }
  it.each<[string, Record<string, unknown>]>([
    ['without a schema', {}],
    ['with one', { models: { contact: schema((value) => ({ value: { ...(value as object) } })) } }],
  ])(
    '%s belongs to it: no other handler sees its changes, and the answer names the event as it arrived',
    async (_what, options) => {
      const bench = new Bench(options)
      const seen: unknown[] = []
      bench.receiver
        .on('*', { name: 'at-once' }, (event) => change(event as never))
        .on('*', { name: 'first' }, async (event) => {
          change(event as never)
          Object.assign(event, { id: 'another', type: 'another', accountKey: 'another' })
        })
        .on('*', { name: 'second' }, async (event) => {
          await settle()
          seen.push(event)
        })
      const event = events.contact.created()
      expect(await bench.send(event)).toMatchObject({ outcome: 'handled', id: event.id, accountKey: event.accountKey })
      expect(seen).toEqual([{ ...event, model: 'contact', action: 'created' }])
    },
  )
})

describe('a handler fails by', () => {
  it.each<[string, () => unknown]>([
    ['throwing an error', raise(new Error('no'))],
    ['throwing undefined', raise(undefined)],
    ['rejecting with an error', () => Promise.reject(new Error('no'))],
    ['rejecting with undefined', () => Promise.reject(undefined)],
    ['giving a thenable whose then throws', () => thenable(raise(new Error('no')))],
    ['giving a thenable that rejects', () => thenable((_resolve, reject) => reject(undefined))],
  ])('%s: 500, reported once, and the event runs again', async (_what, handler) => {
    for (const usual of [atOnce, soon]) {
      const bench = new Bench({ usual })
      let [runs, others] = [0, 0]
      bench.receiver
        .on('*', { name: 'bad' }, () => (runs++ === 0 ? handler() : undefined))
        .on('*', { name: 'good' }, () => void others++)
      const event = events.contact.created()
      const outcome = await bench.send(event)
      expect(outcome).toMatchObject({ outcome: 'failed', status: 500, code: 'handler_failed' })
      expect(bench.codes).toEqual(['handler_failed'])
      expect(bench.errors[0]).toMatchObject({ handlers: ['bad'] })
      expect(bench.errors[0]).toHaveProperty('cause')
      expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
      expect([runs, others]).toEqual([2, 1])
    }
  })

  it.each<[string, () => unknown]>([
    ['undefined', () => undefined],
    ['a record with the fields of an error', () => ({ name: 'Error', message: 'saved' })],
    ['a thenable that resolves', () => thenable((resolve) => resolve())],
    ['an object with a then that is no function', () => Object.defineProperty({}, 'then', { value: 'later' })],
  ])('and not by returning %s', async (_what, handler) => {
    const bench = new Bench()
    const gate = new Gate()
    bench.receiver.on('*', { name: 'odd' }, handler).on('*', { name: 'slow' }, () => gate.promise)
    const sent = bench.send(events.contact.created())
    await bench.clock.advance(100)
    expect(bench.outcomes).toEqual([])
    gate.open()
    expect(await sent).toMatchObject({ outcome: 'handled' })
    expect(bench.errors).toEqual([])
  })
})

it('the context has one signal for all handlers of an event, made when it is first read', async () => {
  const bench = new Bench()
  const signals: AbortSignal[] = []
  bench.receiver
    .on('*', { name: 'a' }, ({ id: _id }, context) => void signals.push(context.signal, context.signal))
    .on('*', { name: 'b' }, (_event, { signal }) => void signals.push(signal))
  await bench.send(events.syncCompleted())
  expect(new Set(signals).size).toBe(1)
  expect(signals[0]?.aborted).toBe(false)
})

describe('a handler over its time', () => {
  it('has its signal aborted at handlerTimeoutMs, not at the deadline, and may still succeed', async () => {
    const bench = new Bench()
    const gate = new Gate()
    const signals: AbortSignal[] = []
    bench.receiver.on('*', { name: 'slow' }, (_event, { signal }) => {
      signals.push(signal)
      return gate.promise
    })
    const event = events.contact.created()
    expect(await bench.sendFor(59_999, event)).toMatchObject({ outcome: 'late' })
    expect(signals[0]?.aborted).toBe(false)
    await bench.clock.advance(1)
    expect(signals[0]?.reason).toMatchObject({ code: 'handler_timeout', handlers: ['slow'], eventId: event.id })
    await bench.clock.advance(4_999)
    gate.open()
    await bench.clock.advance(0)
    expect(await bench.send(event)).toMatchObject({ outcome: 'duplicate' })
    expect(bench.codes).toEqual(['handler_timeout'])
  })

  it('is reported by its name, without those that ended before', async () => {
    const bench = new Bench({ handlerTimeoutMs: 1_000 })
    const gate = new Gate()
    bench.receiver
      .on('*', { name: 'slow' }, () => gate.promise)
      .on('*', { name: 'broken' }, () => Promise.reject(new Error('at once')))
      .on('*', { name: 'fine' }, async () => {})
    const sent = bench.send(events.contact.created())
    await bench.clock.advance(1_000)
    expect(bench.errors).toMatchObject([{ code: 'handler_timeout', handlers: ['slow'] }])
    expect(bench.errors[0]?.message).toContain('The handlers of "contact.created" ran for 1000 ms')
    gate.open()
    expect(await sent).toMatchObject({ status: 500, code: 'handler_failed' })
    expect(bench.errors[1]).toMatchObject({ handlers: ['broken'] })
    expect(bench.store.marksOf('release')).toEqual([['slow', 'fine']])
  })

  it('is abandoned 5 s after its abort: named, no longer renewed, and its late end is not reported', async () => {
    const bench = new Bench()
    const gate = new Gate()
    let runs = 0
    bench.receiver
      .on('*', { name: 'stuck' }, () => (runs++ === 0 ? gate.promise : undefined))
      .on('*', { name: 'fine' }, () => {})
    const event = events.contact.created()
    const sent = bench.send(event)
    await bench.clock.advance(64_999)
    expect(bench.codes).toEqual(['handler_timeout'])
    await bench.clock.advance(1)
    await sent
    expect(bench.codes).toEqual(['handler_timeout', 'handler_abandoned'])
    expect(bench.errors[1]).toMatchObject({ handlers: ['stuck'], cause: { code: 'handler_timeout' } })
    expect(bench.errors[1]?.message).toContain('Pass context.signal to what they wait for.')
    expect(bench.outcomes.map(({ outcome, late }) => [outcome, late])).toEqual([
      ['late', undefined],
      ['failed', true],
    ])
    const renewals = bench.store.count('renew')
    await bench.clock.advance(14_999)
    expect(bench.store.count('renew')).toBe(renewals)
    gate.open()
    await bench.clock.advance(1)
    expect(bench.store.count('complete') + bench.store.count('release')).toBe(0)
    expect(bench.outcomes).toHaveLength(2)
    expect(await bench.send(event)).toMatchObject({ outcome: 'handled' })
    expect(runs).toBe(2)
  })
})

describe('a schema', () => {
  const withRecord = (validate: (value: unknown) => unknown) => {
    const bench = new Bench({ models: { contact: schema(validate) } })
    const seen: unknown[] = []
    bench.receiver.on('contact.*', (event) => void seen.push(event.data.record))
    return { bench, seen }
  }

  it.each([
    ['at once', (result: unknown) => result],
    ['by a promise', (result: unknown) => Promise.resolve(result)],
    ['by a thenable', (result: unknown) => thenable((resolve) => resolve(result))],
  ])('that answers %s: handlers see its output, or the event is refused with its issues', async (_how, answer) => {
    const good = withRecord((value) => answer({ value: { ...(value as object), checked: true } }))
    const event = events.contact.created({ firstName: 'Ada' })
    expect(await good.bench.send(event)).toMatchObject({ outcome: 'handled' })
    expect(good.seen).toEqual([{ ...event.data.record, checked: true }])

    let isStrict = true
    const issues = [{ message: 'Expected a number', path: ['address', { key: 0 }, 'zip'] }, { message: 'whole' }]
    const bad = withRecord((value) => answer(isStrict ? { issues } : { value, issues: undefined }))
    expect(await bad.bench.send(event)).toMatchObject({
      outcome: 'rejected',
      status: 422,
      code: 'invalid_record',
      id: event.id,
      issues: [
        { path: 'address.0.zip', message: 'Expected a number' },
        { path: '', message: 'whole' },
      ],
    })
    expect(bad.seen).toEqual([])
    expect(bad.bench.store.count('release')).toBe(1)
    isStrict = false
    expect(await bad.bench.send(event)).toMatchObject({ outcome: 'handled' })
  })

  it.each<[string, () => unknown]>([
    ['throws undefined', raise(undefined)],
    ['gives a thenable whose then throws', () => thenable(raise(new Error('no')))],
    ['gives neither value nor issues', () => ({})],
  ])('that %s is the app’s failure: 500, released', async (_what, validate) => {
    const { bench, seen } = withRecord(validate)
    const event = events.contact.created()
    expect(await bench.send(event)).toMatchObject({ status: 500, code: 'schema_failed', id: event.id })
    expect(bench.codes).toEqual(['schema_failed'])
    expect(bench.errors[0]).toHaveProperty('cause')
    expect(bench.store.count('release')).toBe(1)
    expect(seen).toEqual([])
  })

  it.each([
    ['no data', undefined],
    ['a record without _id', { record: { id: '1' } }],
  ])('or none: a record event with %s is refused with 422', async (_what, data) => {
    for (const type of ['contact.created', 'contact.deleted', 'toString.updated']) {
      const bench = new Bench()
      bench.receiver.on('*', () => expect.unreachable('the record is no record'))
      const event = { ...events.raw(type), data }
      expect(await bench.send(event)).toMatchObject({
        status: 422,
        code: 'invalid_record',
        issues: [{ path: 'data.record' }],
      })
      expect(bench.store.count('release')).toBe(1)
    }
  })

  it('keeps the other fields of data, and a record’s __proto__ an ordinary field', async () => {
    const bench = new Bench({ models: { contact: schema((value) => ({ value })) } })
    const seen: Record<string, unknown>[] = []
    bench.receiver.on('*', (event) => void seen.push(event.data))
    const body =
      '{"id":"e","type":"contact.created","timestamp":"t","accountKey":"a","data":{"record":{"_id":"1","__proto__":{"admin":true}},"__proto__":{"admin":true},"extra":1}}'
    expect(await bench.send(body)).toMatchObject({ outcome: 'handled' })
    expect(Object.keys(seen[0] ?? {}).sort()).toEqual(['__proto__', 'extra', 'record'])
    expect(seen[0]?.admin).toBeUndefined()
    expect(seen[0]).not.toHaveProperty('record.admin')
  })

  it('that never answers: late at the deadline, aborted and given up in time, and no handler runs', async () => {
    const gate = new Gate<unknown>()
    const { bench, seen } = withRecord(() => gate.promise)
    const event = events.contact.created()
    expect(await bench.sendFor(8_000, event)).toMatchObject({ outcome: 'late' })
    await bench.clock.advance(57_000)
    expect(bench.codes).toEqual(['handler_timeout'])
    expect(bench.errors[0]?.message).toContain('The schema of "contact.created" ran for 60000 ms')
    expect(bench.store.count('release')).toBe(1)
    expect(bench.outcomes.at(-1)).toMatchObject({ outcome: 'failed', code: 'schema_failed', late: true })
    gate.open({ value: {} })
    await bench.clock.advance(1_000)
    expect(seen).toEqual([])
    expect(bench.store.count('release')).toBe(1)
  })
})

describe('work that ends synchronously', () => {
  it('is settled immediately: a synchronous store and synchronous handlers have done everything before receive() returns its promise', async () => {
    const bench = new Bench({ usual: atOnce })
    bench.receiver.on('contact.created', () => {})
    const sent = bench.send(events.contact.created())
    expect(bench.store.calls.map(({ method }) => method)).toEqual(['claim', 'complete'])
    expect(await sent).toMatchObject({ outcome: 'handled' })
  })

  it('costs no timer', async () => {
    let timers = 0
    const clock = {
      ...systemClock,
      setTimeout: (callback: () => void, ms: number) => {
        timers++
        return setTimeout(callback, ms)
      },
    }
    const direct = new Bench({ usual: atOnce, clock })
    direct.receiver.on('contact.created', () => {}).on('contact.*', () => {})
    await direct.send(events.contact.created())
    await settle()
    expect(timers).toBe(0)
  })
})

it.each<[string, () => unknown]>([
  ['at once', () => [Promise.reject(new Error('no')), Promise.resolve()]],
  ['later', async () => [Promise.reject(new Error('no'))]],
])('a handler that returns a list of promises %s fails, since nothing would await them', async (_when, handle) => {
  const bench = new Bench()
  bench.receiver.on('*', handle)
  expect(await bench.send(events.contact.created())).toMatchObject({ status: 500, code: 'handler_failed' })
  expect(bench.errors).toMatchObject([{ cause: { message: expect.stringContaining('return Promise.all(list)') } }])
})

it('a handler that returns the handler itself fails: its work was not done', async () => {
  const handle = () => async () => {}
  for (const handler of [handle, async () => handle()]) {
    const bench = new Bench()
    bench.receiver.on('*', handler)
    expect(await bench.send(events.contact.created())).toMatchObject({ status: 500, code: 'handler_failed' })
    const message = expect.stringContaining('returned a function, which nobody calls')
    expect(bench.errors).toMatchObject([{ cause: { message } }])
  }
})

it.each<[string, () => unknown]>([
  ['at once', () => new Error('no')],
  ['later', async () => new Error('no')],
  ['in a list', async () => [1, new Error('no')]],
  ['of another realm', () => runInNewContext('new TypeError("no")')],
])('a handler that returns an error %s fails as if it had thrown it, and the log says so', async (_how, handle) => {
  const bench = new Bench()
  bench.receiver.on('*', handle)
  expect(await bench.send(events.contact.created())).toMatchObject({ status: 500, code: 'handler_failed' })
  const message = expect.stringContaining('was returned, and counts as thrown: write throw, not return.')
  expect(bench.errors).toMatchObject([{ message, cause: { message: 'no' } }])
})

it.each([new RetryLater(5), new DeadLetter('no')])(
  'without an inbox, the log says that %s has no effect',
  async (error) => {
    const bench = new Bench()
    bench.receiver.on('*', raise(error))
    expect(await bench.send(events.contact.created())).toMatchObject({ status: 500, code: 'handler_failed' })
    expect(bench.errors).toMatchObject([{ message: expect.stringContaining('no worker ran this event'), cause: error }])
  },
)

it('changes of a handler to the output of a schema, including its defaults, are seen by no other event', async () => {
  const tags: string[] = []
  const withTags = schema((record) => ({ value: Object.freeze({ ...(record as object), tags }) }))
  const bench = new Bench({ models: { contact: withTags } })
  const seen: unknown[] = []
  for (const name of ['a', 'b'])
    bench.receiver.on('contact.created', { name }, ({ data }) => {
      const record = data.record as { tags?: string[]; isSeen?: boolean }
      record.isSeen = true // the schema's own object is frozen
      record.tags?.push(name)
      seen.push(record.tags)
    })
  for (let turn = 0; turn < 2; turn++)
    expect(await bench.send(events.contact.created())).toMatchObject({ outcome: 'handled' })
  expect([seen, tags]).toEqual([[['a'], ['b'], ['a'], ['b']], []])
})

it('passes objects of classes that a schema made to every handler unchanged', async () => {
  const when = new Date(0)
  const dated = schema((record) => ({ value: { ...(record as object), when } }))
  const bench = new Bench({ models: { contact: dated } })
  const seen: unknown[] = []
  for (const name of ['a', 'b'])
    bench.receiver.on('contact.created', { name }, ({ data }) => {
      seen.push((data.record as unknown as { when: unknown }).when) // in the schema's form
    })
  expect(await bench.send(events.contact.created())).toMatchObject({ outcome: 'handled' })
  expect(seen).toEqual([when, when])
  expect(seen.every((given) => given === when)).toBe(true)
})

it('tells a handler that calls context.transaction() which stores have it', async () => {
  const bench = new Bench()
  bench.receiver.on('contact.created', (_event, context) => {
    expect('transaction' in context).toBe(false)
    return (context as unknown as { transaction(): unknown }).transaction() // as an app in plain JavaScript
  })
  bench.receiver.on('contact.created', { name: 'other' }, raise(new Error('no')))
  const told = 'has no transactions, so there is no context.transaction: use postgresStore or sqliteStore.'
  expect(await bench.send(events.contact.created())).toMatchObject({
    error: { code: 'handler_failed', message: expect.stringContaining(told) },
  })
})

it('lets any number of handlers pass their signal on without a warning of a leak', async () => {
  const warnings: string[] = []
  const note = ({ name }: Error) => void warnings.push(name)
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))
  const bench = new Bench()
  for (let count = 0; count < 12; count++)
    bench.receiver.on('contact.created', { name: `handler-${count}` }, async (_event, { signal }) => {
      for (let times = 0; times < 12; times++) signal.addEventListener('abort', () => {})
      await settle()
    })
  const sent = bench.send(events.contact.created())
  await bench.clock.advance(10)
  expect(await sent).toMatchObject({ outcome: 'handled' })
  await settle() // Node warns in a later turn
  expect(warnings).toEqual([])
})
