import type { Outcome } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { OBSERVE, type Observable, type Observer, type Watch } from '../../src/engine.ts'
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
      with: (proceed) => {
        const result = proceed()
        this.lines.push('begun')
        return result
      },
      put: (item, put) => {
        this.lines.push(`put ${item.type}`)
        return put(TRACE)
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

const observe = (receiver: object, observer: Observer) => (receiver as Observable)[OBSERVE](observer)

describe('an observer', () => {
  it('is called for deliveries and dispatched events before they begin and when they end', async () => {
    const bench = new Bench()
    const notes = new Notes()
    bench.receiver.on('contact.created', () => void notes.lines.push('handler'))
    const view = observe(bench.receiver, notes)
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
    expect(observe(scene.receiver, notes).inbox).toBe(scene.inbox)
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
    const view = observe(bench.receiver, first)
    expect(failure(() => observe(bench.receiver, second))).toMatchObject({ code: 'option_invalid' })
    view.stop()
    observe(bench.receiver, second)
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
    observe(bench.receiver, first)
    observe(bench.receiver, second)
    await bench.send(events.contact.created())
    expect([first.lines, second.lines.length]).toEqual([['replaced'], 3])
  })
})
