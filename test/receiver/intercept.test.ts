import type { Interceptor, PosternError } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Gate } from '../support/gate.ts'
import { atOnce, Bench, raise, saying, settle, watchRejections } from './support.ts'

watchRejections()

/** A receiver with one interceptor around one handler. */
function intercepted(interceptor: Interceptor, handler: () => unknown = () => {}) {
  const bench = new Bench()
  let runs = 0
  bench.receiver
    .on('*', { name: 'save' }, () => {
      runs++
      return handler()
    })
    .intercept(interceptor)
  return { bench, runs: () => runs }
}

describe('an interceptor', () => {
  it.each<[string, Interceptor]>([
    ['returns what run() returned', (run) => run()],
    ['forgets to return run()', (run) => void run()],
    ['is asynchronous and forgets to wait for run()', async (run) => void run()],
    ['calls run() twice at the same time', (run) => Promise.all([run(), run()])],
  ])('that %s: the handler runs once, and is awaited', async (_what, interceptor) => {
    const gate = new Gate()
    const { bench, runs } = intercepted(interceptor, () => gate.promise)
    const sent = bench.send(events.contact.created())
    await bench.clock.advance(1_000)
    expect(bench.outcomes).toEqual([])
    gate.open()
    expect(await sent).toMatchObject({ outcome: 'handled' })
    expect(runs()).toBe(1)
  })

  it.each<[string, Interceptor]>([
    ['returns', (run) => run()],
    ['forgets to return', (run) => void run()],
    ['catches it', async (run) => Promise.resolve(run()).catch(() => 'fine')],
  ])('cannot acknowledge a failure: the handler fails, and the interceptor %s', async (_what, interceptor) => {
    for (const fail of [() => Promise.reject(new Error('no')), raise(new Error('no'))]) {
      const { bench } = intercepted(interceptor, fail)
      expect(await bench.send(events.contact.created())).toMatchObject({ status: 500, code: 'handler_failed' })
      expect(bench.errors).toMatchObject([{ handlers: ['save'], cause: new Error('no') }])
    }
  })

  it.each<[string, Interceptor]>([
    ['returns at once', () => 'skipped'],
    ['returns later', async () => void (await settle())],
  ])('that never calls run() and %s fails the handler', async (_what, interceptor) => {
    const { bench, runs } = intercepted(interceptor)
    expect(await bench.send(events.contact.created())).toMatchObject({ status: 500, code: 'handler_failed' })
    expect(bench.errors).toMatchObject([{ code: 'handler_failed', cause: { code: 'interceptor_skipped' } }])
    expect(runs()).toBe(0)
  })

  it.each<[string, (...args: never[]) => unknown]>([
    ['the event first', async (_event: object, next: () => unknown) => next()],
    ['the event first, at once', (_event: object, run: () => unknown) => run()],
    ['an object', (context: { data: { record: object } }) => context.data.record],
  ])('that takes %s is told the order of its arguments', async (_what, interceptor) => {
    const { bench } = intercepted(interceptor as unknown as Interceptor)
    expect(await bench.send(events.contact.created())).toMatchObject({ status: 500, code: 'handler_failed' })
    const message = expect.stringContaining('It is called with (run, event, context, handlerName)')
    expect(bench.errors).toMatchObject([{ cause: { code: 'interceptor_skipped', message } }])
  })

  it.each<[string, Interceptor]>([
    [
      'throws',
      (run) => {
        void run()
        throw new Error('tracing is down')
      },
    ],
    ['rejects', (run) => Promise.resolve(void run()).then(() => Promise.reject(new Error('tracing is down')))],
  ])('that %s fails the handler, whose end is awaited before the claim is released', async (_what, interceptor) => {
    const gate = new Gate()
    const { bench } = intercepted(interceptor, () => gate.promise)
    const sent = bench.send(events.contact.created())
    await bench.clock.advance(1_000)
    expect(bench.store.count('release')).toBe(0)
    gate.fail(new Error('as well'))
    expect(await sent).toMatchObject({ status: 500 })
    expect(bench.errors).toMatchObject([{ cause: new Error('tracing is down') }])
  })

  it('that ends long after a run() that it does not look at leaves no unhandled rejection behind', async () => {
    const interceptor: Interceptor = async (run) => {
      void run()
      await settle()
      await settle()
    }
    const { bench } = intercepted(interceptor, () => Promise.reject(new Error('no')))
    expect(await bench.send(events.contact.created())).toMatchObject({ status: 500, code: 'handler_failed' })
    expect(bench.errors).toMatchObject([{ cause: new Error('no') }])
  })

  it.each<[string, string, (bench: Bench) => unknown]>([
    ['the handler was given up', 'handler_timeout', () => {}],
    ['another process took the event', 'lease_lost', ({ store }) => store.plan('renew', saying(false))],
  ])(
    'that calls run() after %s begins nothing: the event is another attempt’s by then',
    async (_what, why, prepare) => {
      const gate = new Gate()
      let [runs, reason]: [number, unknown] = [0, undefined]
      const bench = new Bench({ handlerTimeoutMs: 1_000 })
      prepare(bench)
      bench.receiver.intercept(async (run) => {
        await gate.promise
        await Promise.resolve(run()).catch((error: PosternError) => {
          reason = error.code
        })
      })
      bench.receiver.on('*', () => void runs++)
      expect(await bench.sendFor(12_000, events.contact.created())).toMatchObject({
        status: expect.not.stringMatching('200'),
      })
      gate.open()
      await settle()
      expect([runs, reason]).toEqual([0, why])
    },
  )
})

it.each<[string, Interceptor]>([
  ['', (run) => run()],
  [' that waits and returns nothing', async (run) => void (await run())],
])('a list of promises fails its handler even behind an interceptor%s', async (_what, interceptor) => {
  const makeList = () => [Promise.reject(new Error('no')), settle()]
  for (const handler of [makeList, async () => makeList()]) {
    const { bench } = intercepted(interceptor, handler)
    bench.receiver.intercept((run) => run())
    expect(await bench.send(events.contact.created())).toMatchObject({ status: 500, code: 'handler_failed' })
    expect(bench.errors).toMatchObject([{ cause: { message: expect.stringContaining('return Promise.all(list)') } }])
  }
})

it('a synchronous interceptor adds no wait, and no signal', async () => {
  const made = vi.spyOn(globalThis, 'AbortController')
  onTestFinished(() => made.mockRestore())
  const bench = new Bench({ usual: atOnce })
  bench.receiver.intercept((run) => run()).on('*', () => {})
  bench.receiver.intercept((run) => run())
  const sent = bench.send(events.contact.created())
  expect(bench.outcomes).toMatchObject([{ outcome: 'handled' }])
  await sent
  expect(made).not.toHaveBeenCalled()
})
