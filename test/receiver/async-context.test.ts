import { AsyncLocalStorage } from 'node:async_hooks'
import type { Outcome } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { Scene, until } from '../inbox/scene.ts'
import { Gate } from '../support/gate.ts'
import { Bench, hanging, rejecting, saying, soon, watchRejections } from './support.ts'

watchRejections()

const TENANTS = ['acme', 'globex']

/** A bench that notes in whose context each call of the app's code runs. Deliveries run in the context of their account. */
function watched(options: ConstructorParameters<typeof Bench>[0] = {}) {
  const context = new AsyncLocalStorage<string>()
  const calls: string[] = []
  const note = (what: string) => void calls.push(`${what} in ${context.getStore()}`)
  const bench = new Bench({
    onError: ({ code, accountKey = '?' }: { readonly code: string; readonly accountKey?: string }) =>
      note(`${code} of ${accountKey}`),
    onOutcome: ({ outcome, accountKey }: Outcome) => note(`${outcome} of ${accountKey}`),
    ...options,
  })
  const deliver = (accountKey: string, event = events.contact.created({}, { accountKey })) =>
    context.run(accountKey, () => bench.send(event, { waitUntil: () => note(`waitUntil of ${accountKey}`) }))
  return { bench, calls, note, deliver }
}

const ofEach = (...what: string[]) =>
  what.flatMap((text) => TENANTS.map((tenant) => `${text} of ${tenant} in ${tenant}`))

describe('code of the app that a timer calls runs in the context of its own delivery', () => {
  it('at the deadline, at the abort of a handler, and when it is given up', async () => {
    const { bench, calls, note, deliver } = watched({ handlerTimeoutMs: 20_000 })
    bench.receiver.on('contact.created', ({ accountKey }, { signal }) => {
      signal.addEventListener('abort', () => note(`abort of ${accountKey}`))
      return new Promise(() => {})
    })
    const sent = TENANTS.map((tenant) => deliver(tenant))
    await bench.clock.advance(30_000)
    await Promise.all(sent)
    const expected = ofEach('waitUntil', 'late', 'handler_timeout', 'abort', 'handler_abandoned', 'failed')
    expect(calls.sort()).toEqual(expected.sort())
  })

  it('when the bodies of two deliveries stall, which one timer cuts', async () => {
    const codes: string[] = []
    const context = new AsyncLocalStorage<string>()
    const bench = new Bench({
      onOutcome: (outcome: { readonly status: number }) => void codes.push(`${context.getStore()}: ${outcome.status}`),
    })
    const read = () => new Promise<never>(() => {})
    const header = (name: string) => (name === 'x-service-signature' ? `sha256=${'0'.repeat(64)}` : undefined)
    const sent = TENANTS.map((tenant) => context.run(tenant, () => bench.receiver.handle({ header, read })))
    await bench.clock.advance(8_000)
    await Promise.all(sent)
    expect(codes).toEqual(TENANTS.map((tenant) => `${tenant}: 408`))
  })

  it('when the store renews a claim, and another process has taken it', async () => {
    const { bench, calls, note, deliver } = watched()
    const { renew } = bench.store
    bench.store.plan('renew', soon, soon, saying(false), saying(false))
    bench.store.renew = (key, ...rest) => {
      note(`renew of ${TENANTS.find((tenant) => key.includes(tenant))}`)
      return renew.call(bench.store, key, ...rest)
    }
    bench.receiver.on('contact.created', ({ accountKey }, { signal }) => {
      return new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          note(`abort of ${accountKey}`)
          reject(signal.reason)
        }),
      )
    })
    const sent = TENANTS.map((tenant) => deliver(tenant))
    await bench.clock.advance(10_000)
    await Promise.all(sent)
    const expected = ofEach('renew', 'renew', 'lease_lost', 'abort', 'handler_failed', 'failed', 'waitUntil', 'late')
    expect(calls.sort()).toEqual(expected.sort())
  })

  it('when a claim has no answer', async () => {
    const { bench, calls, deliver } = watched()
    bench.store.plan('claim', hanging, hanging)
    bench.receiver.on('contact.created', () => {})
    const sent = TENANTS.map((tenant) => deliver(tenant))
    await bench.clock.advance(10_000)
    await Promise.all(sent)
    expect(calls.sort()).toEqual(
      TENANTS.flatMap((tenant) => [`failed of ${tenant} in ${tenant}`, `store_unavailable of ? in ${tenant}`]).sort(),
    )
  })

  it('when a delivery has joined the run of another one', async () => {
    const { bench, calls, deliver } = watched()
    const gate = new Gate<unknown>()
    bench.store.plan('complete', rejecting)
    bench.receiver.on('contact.created', () => gate.promise)
    const event = events.contact.created({}, { accountKey: 'acme' })
    const sent = [deliver('acme', event), deliver('globex', event)]
    await bench.clock.advance(10)
    gate.open(undefined)
    await bench.clock.advance(1_000)
    await Promise.all(sent)
    expect(calls.sort()).toEqual(
      [
        'handled of acme in acme',
        'handled of acme in globex',
        'store_unavailable of ? in acme',
        'waitUntil of acme in acme',
        'waitUntil of globex in globex',
      ].sort(),
    )
  })

  it('when a duplicate was late, and the first delivery was not', async () => {
    const outcomes: Outcome[] = []
    const { bench, calls, deliver } = watched({ onOutcome: (outcome: Outcome) => void outcomes.push(outcome) })
    const told = watched()
    const gate = new Gate<unknown>()
    for (const each of [bench, told.bench]) each.receiver.on('contact.created', () => gate.promise)
    const event = events.contact.created({}, { accountKey: 'acme' })
    const send = (each: typeof told) => [
      each.bench.receiver.dispatch(event, { waitMs: 60_000 }),
      each.deliver('globex', event),
    ]
    const sent = [...send({ ...told, bench, deliver, calls }), ...send(told)]
    for (const each of [bench, told.bench]) await each.clock.advance(9_000)
    gate.open(undefined)
    for (const each of [bench, told.bench]) await each.clock.advance(10)
    await Promise.all(sent)
    expect(outcomes.map(({ outcome, joined, late }) => [outcome, joined, late])).toEqual([
      ['late', true, undefined],
      ['handled', true, true],
      ['handled', undefined, undefined],
    ])
    expect(told.calls).toContain('handled of acme in globex')
  })

  it('when a worker is closed, and aborts the try of an event', async () => {
    const context = new AsyncLocalStorage<string>()
    const calls: string[] = []
    const note = (what: string) => void calls.push(`${what} in ${context.getStore()}`)
    const scene = new Scene({ onError: ({ code }) => note(code) })
    let isRunning = false
    scene.receiver.on('contact.created', (_event, { signal }) => {
      isRunning = true
      return new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          note('abort')
          reject(signal.reason)
        }),
      )
    })
    await scene.deliver(events.contact.created())
    const worker = context.run('worker', () => scene.work())
    await until('the handler runs', () => isRunning)
    await context.run('shutdown', () => worker.close({ timeoutMs: 0 }))
    await until('the try has ended', () => calls.length >= 2)
    expect(calls).toEqual(['worker_closed in worker', 'abort in worker'])
  })
})
