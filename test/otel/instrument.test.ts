import { context, metrics, type TracerProvider, trace } from '@opentelemetry/api'
import { createReceiver, type Receiver, type ReceiverOptions } from 'postern'
import { instrument } from 'postern/otel'
import { events, type SignedOptions, signed, silentLogger } from 'postern/testing'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { failure, watchRejections } from '../receiver/support.ts'
import { enableContexts, Sdk } from './scene.ts'

const SECRET = 'whsec_otel'

beforeEach(enableContexts)
afterEach(() => {
  for (const api of [context, trace, metrics]) api.disable()
})
watchRejections()

function make(options: Partial<ReceiverOptions<never, never>> = {}) {
  return createReceiver({ secret: SECRET, logger: silentLogger, ...options } as ReceiverOptions<
    never,
    never
  >) as unknown as Receiver
}

function send(receiver: Receiver, event = events.contact.created(), tamper: SignedOptions['tamper'] = 'none') {
  return receiver.receive(signed(event, { secret: SECRET, tamper }))
}

const refuse = (): never => {
  throw new Error('the SDK is broken')
}

describe('instrument', () => {
  // test/wrong-calls.test.ts shows the same of every other wrong argument.
  it('refuses a provider of tracers that is none', () => {
    const error = failure(() => instrument(make(), { tracerProvider: {} as TracerProvider }))
    expect(error).toMatchObject({ code: 'option_invalid', message: expect.stringContaining('it has no getTracer()') })
  })

  it('refuses a receiver that is instrumented, until that has stopped', async () => {
    const [sdk, receiver] = [new Sdk(), make()]
    const first = instrument(receiver, sdk.providers)
    expect(failure(() => instrument(receiver, sdk.providers))).toMatchObject({ code: 'option_invalid' })
    first.stop()
    instrument(receiver, sdk.providers)
    receiver.on('*', () => {})
    await send(receiver)
    expect(sdk.spans.map(({ name }) => name)).toEqual(['handle *', 'process default'])
    expect((await sdk.histograms('messaging.process.duration')).map(([, { count }]) => count)).toEqual([1])
  })

  it('replaces an older one in development, when a module is loaded again', async () => {
    vi.stubEnv('NODE_ENV', 'development')
    onTestFinished(() => void vi.unstubAllEnvs())
    const [sdk, receiver] = [new Sdk(), make()]
    receiver.on('*', () => {})
    instrument(receiver, sdk.providers)
    await send(receiver)
    instrument(receiver, sdk.providers)
    await send(receiver)
    const names = ['handle *', 'process default']
    expect(sdk.spans.map(({ name }) => name)).toEqual([...names, ...names])
  })

  it('refuses a receiver that has had deliveries, and leaves nothing behind', async () => {
    const [sdk, receiver] = [new Sdk(), make()]
    receiver.on('*', () => {})
    await send(receiver)
    expect(failure(() => instrument(receiver, sdk.providers))).toMatchObject({ code: 'registration_frozen' })
    expect(failure(() => instrument(receiver, sdk.providers))).toMatchObject({ code: 'registration_frozen' })
    await send(receiver)
    expect(sdk.spans).toEqual([])
  })

  it('stops at stop, also for handlers, and deliveries continue', async () => {
    const [sdk, receiver] = [new Sdk(), make()]
    receiver.on('*', () => {})
    const instrumentation = instrument(receiver, sdk.providers)
    await send(receiver)
    instrumentation.stop()
    instrumentation.stop()
    expect(await send(receiver)).toMatchObject({ outcome: 'handled' })
    expect(sdk.spans).toHaveLength(2)
    expect(await sdk.points('postern.deliveries')).toMatchObject([[{}, 1]])
    expect(await sdk.points('postern.in_flight')).toEqual([])
  })

  it('does nothing without an SDK, and uses one that comes later', async () => {
    const [sdk, receiver] = [new Sdk(), make()]
    receiver.on('*', () => {})
    instrument(receiver)
    expect(await send(receiver)).toMatchObject({ outcome: 'handled' })
    trace.setGlobalTracerProvider(sdk.tracerProvider)
    metrics.setGlobalMeterProvider(sdk.meterProvider)
    expect(await send(receiver)).toMatchObject({ outcome: 'handled' })
    expect(sdk.spans.map(({ name }) => name)).toEqual(['handle *', 'process default'])
    expect(await sdk.points('postern.deliveries')).toMatchObject([[{}, 1]])
  })
})

describe('attributes of metrics', () => {
  it('contain no type without a handler, no id, account or record', async () => {
    const [sdk, receiver] = [new Sdk(), make()]
    receiver.on('contact.created', () => {}).on('*', { name: 'all' }, () => {})
    instrument(receiver, sdk.providers)
    for (let index = 0; index < 200; index++) {
      const event = events.contact.created({ email: `jane-${index}@example.test` })
      await send(receiver, { ...event, type: `${'x'.repeat(100)}-${index}.created` as 'contact.created' })
      await send(receiver, {
        ...event,
        id: `${event.id}-b`,
        type: '__proto__' as 'contact.created',
        accountKey: `a-${index}`,
      })
      await send(receiver, { ...event, id: `${event.id}-c` })
      await send(receiver, event, 'flip-bit')
    }
    const outcome = (of: string, type?: string) => ({
      'postern.outcome': of,
      ...(type && { 'postern.event.type': type }),
    })
    expect(await sdk.points('postern.deliveries')).toEqual([
      [outcome('handled', 'other'), 400],
      [outcome('handled', 'contact.created'), 200],
      [{ ...outcome('rejected'), 'postern.code': 'signature_mismatch' }, 200],
    ])
    const all = [...(await sdk.collect()).values()].map(({ dataPoints }) => dataPoints.length)
    expect(Math.max(...all)).toBe(3)
  })

  it('have their own buckets', async () => {
    const [sdk, receiver] = [new Sdk(), make()]
    receiver.on('*', () => {})
    instrument(receiver, sdk.providers)
    await send(receiver)
    for (const name of ['postern.delivery.duration', 'messaging.process.duration']) {
      const [[, { buckets }] = [{}, { buckets: { boundaries: [] as number[] } }]] = await sdk.histograms(name)
      expect([buckets.boundaries[0], buckets.boundaries.at(-1)]).toEqual([0.005, 3_600])
    }
  })
})

const span = { spanContext: refuse, setAttribute: refuse, setAttributes: refuse, setStatus: refuse, end: refuse }

it.each([
  ['as a span begins', refuse],
  ['as a span ends', () => span],
])('a processor of spans that throws changes nothing: %s', async (_when, startSpan) => {
  const codes: string[] = []
  const receiver = make({ onError: ({ code }) => void codes.push(code) })
  const runs: string[] = []
  receiver.on('contact.created', async () => void runs.push('a')).on('*', { name: 'b' }, () => void runs.push('b'))
  receiver.on('contact.updated', async () => Promise.reject(new Error('mine')))
  receiver.on('contact.deleted', () => {
    throw new Error('mine')
  })
  instrument(receiver, { tracerProvider: { getTracer: () => ({ startSpan }) } as unknown as TracerProvider })
  expect(await send(receiver)).toMatchObject({ outcome: 'handled', status: 200 })
  expect(await receiver.dispatch(events.contact.created())).toMatchObject({ outcome: 'handled' })
  expect(runs).toEqual(['a', 'b', 'a', 'b'])
  for (const event of [events.contact.updated(), events.contact.deleted()])
    expect(await receiver.dispatch(event as never)).toMatchObject({ outcome: 'failed', code: 'handler_failed' })
  expect(codes.filter((code) => code !== 'handler_failed')).toEqual([])
})
