import type { Observer, Outcome, Watch } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Scene, until } from '../inbox/scene.ts'
import { Bench, failure, watchRejections } from './support.ts'

watchRejections()

const TRACE = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }

/** Records all its calls. */
class Notes implements Observer {
  readonly lines: string[] = []
  readonly outcomes: Outcome[] = []

  begin(work: Parameters<Observer['begin']>[0]): Watch {
    this.lines.push(`begin ${typeof work === 'string' ? work : `try of ${work.type}`}`)
    return {
      run: (proceed) => {
        proceed()
        this.lines.push('begun')
      },
      put: (item, put) => {
        this.lines.push(`put ${item.type}`)
        put(TRACE)
      },
      onOutcome: (outcome) => {
        this.lines.push(outcome.outcome)
        this.outcomes.push(outcome)
      },
    }
  }

  onSettled(_item: unknown, { next }: { readonly next: string }): void {
    this.lines.push(`settled: ${next}`)
  }

  onStalled(): void {
    this.lines.push('stalled')
  }

  onReplaced(): void {
    this.lines.push('replaced')
  }
}

const refuse = (): never => {
  throw new Error('the observer is broken')
}

/** Each way in which an observer can fail, and the calls that its watch still gets. */
const BROKEN: readonly (readonly [what: string, watch: () => Watch])[] = [
  ['does not begin', refuse],
  ['returns nothing', () => undefined as never],
  ['throws before it runs the work', () => ({ run: refuse, put: refuse, onOutcome: refuse })],
  ['never runs the work', () => ({ run: () => {}, put: () => {}, onOutcome: () => {} })],
  [
    'runs the work twice',
    () => ({
      run: (work) => [work(), work()],
      put: (_item, put) => [put(undefined), put(undefined)],
      onOutcome: () => {},
    }),
  ],
  [
    'throws after the work',
    () => ({
      run: (work) => [work(), refuse()],
      put: (_item, put) => [put(TRACE), refuse()],
      onOutcome: refuse,
    }),
  ],
  [
    'changes the outcome',
    () => ({
      run: (work) => work(),
      put: (_item, put) => put(TRACE),
      onOutcome: (outcome) => Object.assign(outcome, { status: 500, outcome: 'failed' }),
    }),
  ],
]

describe('an observer', () => {
  it('is called for deliveries and dispatched events before they begin and when they end', async () => {
    const bench = new Bench()
    const notes = new Notes()
    bench.receiver.on('contact.created', () => void notes.lines.push('handler'))
    const view = bench.receiver.observe(notes)
    await bench.send(events.contact.created())
    await bench.receiver.dispatch(events.contact.created())
    await bench.send(events.contact.created(), { tamper: 'flip-bit' })
    const handled = ['begun', 'handler', 'handled']
    const expected = ['begin delivery', ...handled, 'begin dispatch', ...handled]
    expect(notes.lines).toEqual([...expected, 'begin delivery', 'rejected', 'begun'])
    expect([view.name, view.inbox, view.inFlight]).toEqual(['default', undefined, 0])
  })

  it('is called for items of the inbox when they are put, tried and settled, and the item carries its trace', async () => {
    const scene = new Scene()
    const notes = new Notes()
    const seen: unknown[] = []
    scene.receiver.on('contact.created', () => void notes.lines.push('handler'))
    expect(scene.receiver.observe(notes).inbox).toBe(scene.inbox)
    await scene.deliver(events.contact.created())
    expect(notes.lines.splice(0)).toEqual(['begin delivery', 'put contact.created', 'begun', 'accepted'])
    for (const { trace } of (await scene.inbox.list('waiting')).entries) seen.push(trace)
    expect(seen).toEqual([TRACE])
    scene.work()
    await scene.untilIdle()
    await until('it is settled', () => notes.lines.length === 5)
    expect(notes.lines).toEqual(['begin try of contact.created', 'begun', 'handler', 'handled', 'settled: remove'])
  })

  it('is not called once it has stopped, and another may follow', async () => {
    const bench = new Bench()
    const [first, second] = [new Notes(), new Notes()]
    bench.receiver.on('*', () => {})
    const view = bench.receiver.observe(first)
    expect(failure(() => bench.receiver.observe(second))).toMatchObject({ code: 'option_invalid' })
    view.stop()
    bench.receiver.observe(second)
    view.stop() // not the second one's
    await bench.send(events.contact.created())
    expect([first.lines.length, second.lines.length]).toEqual([0, 3])
  })

  it('is replaced by another one in development, when a module is loaded again', async () => {
    vi.stubEnv('NODE_ENV', 'development')
    onTestFinished(() => void vi.unstubAllEnvs())
    const bench = new Bench()
    const [first, second] = [new Notes(), new Notes()]
    bench.receiver.on('*', () => {})
    bench.receiver.observe(first)
    bench.receiver.observe(second)
    await bench.send(events.contact.created())
    expect([first.lines, second.lines.length]).toEqual([['replaced'], 3])
  })

  it('is refused if it lacks a method', () => {
    const { receiver } = new Bench()
    expect(failure(() => receiver.observe({ begin: refuse } as never))).toMatchObject({ code: 'option_invalid' })
  })

  it.each(BROKEN)('changes nothing if it %s', async (_what, begin) => {
    const scene = new Scene()
    let runs = 0
    scene.receiver.on('contact.created', () => void runs++)
    scene.receiver.observe({ begin, onSettled: refuse, onStalled: refuse, onReplaced: refuse })
    expect(await scene.deliver(events.contact.created())).toMatchObject({ outcome: 'accepted', status: 200 })
    expect(await scene.receiver.dispatch(events.contact.created())).toMatchObject({ outcome: 'handled', status: 200 })
    scene.work()
    await scene.untilIdle()
    expect(runs).toBe(2)
    expect(new Set(scene.errors.map(({ code }) => code))).toEqual(new Set(['hook_failed']))
    expect(scene.errors).toHaveLength(1)
  })
})
