import { createServer } from 'node:http'
import { context, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { DeadLetter } from 'postern'
import { nodeHandler } from 'postern/node'
import { type InstrumentOptions, instrument } from 'postern/otel'
import { openSqlite } from 'postern/sqlite'
import { events, signed } from 'postern/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ListedEntry } from '../../src/engine.ts'
import { listen } from '../adapters/http/hosts.ts'
import { AT_ONCE, Scene, SECRET, until } from '../inbox/scene.ts'
import { enableContexts, Sdk } from './scene.ts'

beforeAll(enableContexts)
afterAll(() => context.disable())

/** A receiver with an inbox in a file, under instrumentation. */
class InstrumentedScene extends Scene {
  readonly sdk: Sdk

  constructor(options: InstrumentOptions = {}, sdk = new Sdk(), path?: string) {
    super({ name: 'shop' }, path)
    this.sdk = sdk
    instrument(this.receiver, { ...sdk.providers, ...options })
  }

  async onlyEntry(): Promise<ListedEntry> {
    const { entries } = await this.inbox.list('waiting')
    expect(entries).toHaveLength(1)
    return entries[0] as ListedEntry
  }

  tries() {
    return this.sdk.spans.filter(({ attributes }) => attributes['postern.try.number'] !== undefined)
  }
}

describe('an accepted event', () => {
  it('is sent by a producer below its delivery, carries the trace, and is tried in a trace of its own', async () => {
    const scene = new InstrumentedScene()
    scene.receiver.on('contact.created', () => {})
    const host = await listen(nodeHandlerOf(scene))
    const event = events.contact.created()
    const sent = signed(event, { secret: SECRET })
    const response = await fetch(sent.request(`http://127.0.0.1:${host.port}/`))
    await host.close()
    expect([response.status, await response.json()]).toEqual([200, { code: 'accepted', id: event.id }])

    const [delivery, sending] = [scene.sdk.span('process shop'), scene.sdk.span('send shop')]
    expect([delivery.kind, sending.kind]).toEqual([SpanKind.SERVER, SpanKind.PRODUCER])
    expect(sending.parentSpanContext?.spanId).toBe(delivery.spanContext().spanId)
    const { traceId, spanId } = sending.spanContext()
    const { trace } = await scene.onlyEntry()
    expect(trace).toEqual({ traceparent: `00-${traceId}-${spanId}-01` })
    expect(sending.attributes).toEqual({
      'messaging.system.name': 'postern',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.destination.name': 'shop',
      'messaging.message.id': event.id,
      'messaging.message.body.size': sent.body.length,
    })

    scene.sdk.spanExporter.reset()
    await scene.sdk.below('start', async () => scene.work()) // the context of its start is not part of its trace
    await scene.untilIdle()
    await until('the try has ended', () => scene.sdk.spans.length === 3)
    const [tried, handler] = [scene.sdk.span('process shop'), scene.sdk.span('handle contact.created')]
    expect(tried.parentSpanContext).toBeUndefined()
    expect(tried.spanContext().traceId).not.toBe(traceId)
    expect(tried.links).toMatchObject([{ context: { traceId, spanId, isRemote: true } }])
    expect([tried.kind, handler.parentSpanContext?.spanId]).toEqual([SpanKind.CONSUMER, tried.spanContext().spanId])
    expect(tried.attributes).toMatchObject({ 'postern.try.number': 1, 'postern.outcome': 'handled' })
    expect(tried.attributes).not.toHaveProperty('http.response.status_code')
  })

  it('keeps the state of its trace, and a damaged trace is no link', async () => {
    const scene = new InstrumentedScene()
    scene.receiver.on('*', () => {})
    scene.inbox.put(
      itemOf('1', { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00', tracestate: 'a=1' }),
    )
    scene.inbox.put(itemOf('2', { traceparent: '00-00000000000000000000000000000000-00f067aa0ba902b7-01' }))
    scene.inbox.put(itemOf('3', { traceparent: 'nonsense' }))
    await scene.inbox.put(itemOf('4', undefined))
    scene.work()
    await until('all were tried', () => scene.tries().length >= 4)
    const links = scene.tries().flatMap((span) => span.links)
    expect(links.map((link) => [link.context.spanId, link.context.traceState?.serialize()])).toEqual([
      ['00f067aa0ba902b7', 'a=1'],
    ])
  })

  it.each([
    ['a child of the delivery', true],
    ['linked to the delivery', false],
  ])('has each try as %s, if parent is %s', async (_what, parent) => {
    const scene = new InstrumentedScene({ parent })
    let runs = 0
    scene.receiver.on('*', async () => {
      if (++runs < 3) throw new Error('not yet')
    })
    await scene.deliver(events.contact.created())
    scene.work()
    await until('it was tried three times', () => scene.tries().length === 3)
    const { traceId, spanId } = scene.sdk.span('send shop').spanContext()
    const tries = scene.tries()
    expect(tries.map(({ attributes }) => attributes['postern.try.number'])).toEqual([1, 2, 3])
    expect(tries.map(({ status }) => status.code)).toEqual([
      ...[SpanStatusCode.ERROR, SpanStatusCode.ERROR, SpanStatusCode.UNSET],
    ])
    const traces = new Set(tries.map((span) => span.spanContext().traceId))
    if (parent) {
      expect([...traces]).toEqual([traceId])
      for (const { parentSpanContext } of tries) expect(parentSpanContext?.spanId).toBe(spanId)
    } else {
      expect([traces.size, traces.has(traceId)]).toEqual([3, false])
      for (const { links } of tries) expect(links[0]?.context.spanId).toBe(spanId)
    }
  })

  it('has a failed producer if the inbox did not store it', async () => {
    const scene = new InstrumentedScene()
    scene.receiver.on('*', () => {})
    const other = openSqlite(scene.path)
    other.exec('BEGIN IMMEDIATE')
    await scene.deliver(events.contact.created())
    other.exec('ROLLBACK')
    other.close()
    for (const name of ['send shop', 'process shop'])
      expect(scene.sdk.span(name)).toMatchObject({
        attributes: { 'error.type': 'inbox_unavailable' },
        status: { code: SpanStatusCode.ERROR },
      })
    const [[attributes, { count }] = [{}, { count: 0 }]] = await scene.sdk.histograms(
      'messaging.client.operation.duration',
    )
    expect([attributes, count]).toEqual([
      {
        'messaging.system.name': 'postern',
        'messaging.operation.name': 'send',
        'messaging.operation.type': 'send',
        'error.type': 'inbox_unavailable',
      },
      1,
    ])
  })
})

describe('the metrics of an inbox', () => {
  it('count tries by outcome, dead letters by cause, and revived ones', async () => {
    const scene = new InstrumentedScene()
    let isWell = false
    scene.receiver.on('contact.created', () => {
      if (!isWell) throw new DeadLetter('no such customer')
    })
    scene.receiver.on('contact.updated', () => {
      throw new Error('always')
    })
    const lost = events.contact.created()
    await scene.deliver(lost)
    await scene.deliver(events.contact.updated())
    scene.work({ ...AT_ONCE, attempts: 2 })
    await until('both are dead letters', () => scene.dead.length === 2)
    isWell = true
    await scene.deliver(lost) // the service's manual retry
    await scene.untilIdle()
    await until('it was handled', () => scene.outcomes.at(-1)?.outcome === 'handled')
    const type = (of: string) => ({ 'postern.event.type': of })
    expect(await scene.sdk.points('postern.tries')).toEqual([
      [{ 'postern.outcome': 'failed', 'postern.code': 'handler_failed', ...type('contact.created') }, 1],
      [{ 'postern.outcome': 'failed', 'postern.code': 'handler_failed', ...type('contact.updated') }, 2],
      [{ 'postern.outcome': 'handled', ...type('contact.created') }, 1],
    ])
    expect(await scene.sdk.points('postern.inbox.dead_letters')).toEqual([
      [{ 'postern.code': 'dead_letter' }, 1],
      [{ 'postern.code': 'handler_failed' }, 1],
    ])
    expect(await scene.sdk.points('postern.inbox.revivals')).toEqual([[{}, 1]])
    expect(await scene.sdk.points('postern.inbox.suspects')).toEqual([[{}, 0]])
  })

  it('count items that run alone since two workers died', async () => {
    const scene = new InstrumentedScene()
    scene.receiver.on('*', () => {})
    await scene.deliver(events.contact.created())
    // A killed worker leaves a lease, which ends. It is the second one.
    scene.database.exec("UPDATE postern_inbox SET state = 2, worker = 'gone', position = 1, losses = 1")
    scene.work()
    await scene.untilIdle()
    await until('it was tried', () => scene.tries().length === 1)
    expect(scene.tries()[0]?.attributes).toMatchObject({ 'postern.try.alone': true })
    expect(await scene.sdk.points('postern.inbox.suspects')).toEqual([[{}, 1]])
  })

  it('count items that another worker took while they ran here', async () => {
    const scene = new InstrumentedScene()
    scene.receiver.on('*', () => {
      // Other processes do this while this one is suspended.
      scene.database.exec("UPDATE postern_inbox SET worker = 'another'")
    })
    await scene.deliver(events.contact.created())
    scene.work()
    await until('the stall is counted', async () => (await scene.sdk.points('postern.inbox.stalls'))[0]?.[1] !== 0)
    expect(await scene.sdk.points('postern.inbox.stalls')).toEqual([[{}, 1]])
    scene.database.exec('DELETE FROM postern_inbox')
  })

  it('measure the time in the inbox from when an event was due', async () => {
    const scene = new InstrumentedScene()
    const runs: number[] = []
    scene.receiver.on('*', () => {
      if (runs.push(performance.now()) === 1) throw new Error('not yet')
    })
    await scene.deliver(events.contact.created())
    scene.database.exec('UPDATE postern_inbox SET due_at = due_at - 7200000')
    scene.work({ delay: () => 400 })
    await until('it was handled', () => scene.outcomes.at(-1)?.outcome === 'handled')
    const [[attributes, value] = []] = await scene.sdk.histograms('postern.inbox.wait.duration')
    expect([attributes, value?.count]).toEqual([{}, 2])
    expect(value?.max).toBeGreaterThan(7_199)
    const [first = 0, second = 0] = runs
    // The delay of 400 ms was planned.
    expect(value?.min).toBeLessThan((second - first - 400) / 1_000 + 0.05)
    expect(value?.buckets.boundaries.at(-1)).toBe(7 * 86_400)
  })
})

describe('the gauges of an inbox', () => {
  const gauge = async (scene: InstrumentedScene, name: string) =>
    (await scene.sdk.points(`postern.inbox.${name}`)).map(([, value]) => value)

  it('are the same in each process that shares it, from one query in 30 s', async () => {
    const one = new InstrumentedScene()
    const two = new InstrumentedScene({}, new Sdk(), one.path)
    let queries = 0
    const { counts } = one.inbox
    Object.assign(one.inbox, { counts: () => [queries++, counts()][1] })
    for (const scene of [one, two]) scene.receiver.on('*', () => {})
    for (let sent = 0; sent < 3; sent++) await one.deliver(events.contact.created())
    one.database.exec(
      'UPDATE postern_inbox SET state = 4 WHERE seq = 1; UPDATE postern_inbox SET due_at = due_at - 60000',
    )
    for (const scene of [one, two, one]) {
      expect(await gauge(scene, 'waiting')).toEqual([2])
      expect(await gauge(scene, 'running')).toEqual([0])
      expect(await gauge(scene, 'dead')).toEqual([1])
      const [age = 0] = await gauge(scene, 'oldest.age')
      expect(age).toBeGreaterThan(59)
      expect(age).toBeLessThan(70)
    }
    expect(queries).toBe(1)
    await one.deliver(events.contact.created())
    expect(await gauge(one, 'waiting')).toEqual([2])
  })
})

function nodeHandlerOf(scene: Scene) {
  return createServer(nodeHandler(scene.receiver))
}

function itemOf(id: string, trace: { readonly traceparent: string; readonly tracestate?: string } | undefined) {
  const event = events.contact.created()
  const bytes = Buffer.from(JSON.stringify({ ...event, id }))
  const { accountKey, type } = event
  const key = `4:shop${accountKey.length}:${accountKey}${id.length}:${id}`
  return { key, bytes, accountKey, id, type, receivedAt: Date.now(), ...(trace && { trace }) }
}
