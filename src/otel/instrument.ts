import { context, createNoopMeter, type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api'
import {
  type AnyEvent,
  type EventTypes,
  FLAG,
  type Interceptor,
  OBSERVE,
  type Observable,
  OptionChecker,
  withMethods,
} from '../engine.ts'
import { observeGauges } from './gauges.ts'
import { createMetrics } from './metrics.ts'
import { SCHEMA_URL, SYSTEM } from './names.ts'
import { attempt, beginRun, classOf, type Recording, watchDelivery, watchTry } from './spans.ts'

/** Options of `instrument`. */
export interface InstrumentOptions {
  /** Tracer provider. Default: the global one, even if it is registered later. */
  readonly tracerProvider?: TracerProvider | undefined
  /** Meter provider. Default: the global one, even if it is registered later. */
  readonly meterProvider?: MeterProvider | undefined
  /**
   * Makes the try of a worker a child of the delivery of its event, for backends that do not show links; traces may then last for days.
   * Default: false; each try is a separate trace, linked to the trace of the delivery.
   */
  readonly parent?: boolean | undefined
}

/** Handle of the spans and metrics that `instrument` set up. */
export interface Instrumentation {
  /** Stops spans and metrics of the receiver. Its deliveries go on. */
  stop(): void
}

/** Part of a receiver that is needed here, independent of its models. */
export interface Instrumentable {
  intercept(interceptor: Interceptor): unknown
  eventTypes(): EventTypes
}

/**
 * Records spans and metrics of a receiver with OpenTelemetry. Call it once for each receiver, before the first delivery. Registers no
 * provider: without an SDK it does nothing.
 *
 * @throws ConfigurationError `option_invalid`, also if the receiver is already instrumented; `option_unknown`, `registration_frozen`
 * @example
 * const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET })
 * instrument(receiver)
 */
export function instrument(receiver: Instrumentable, options: InstrumentOptions = {}): Instrumentation {
  checkInstrumentOptions(receiver, options)
  const { tracerProvider = trace.getTracerProvider(), parent = false } = options
  const tracer = tracerProvider.getTracer(SYSTEM, undefined, { schemaUrl: SCHEMA_URL })
  let stopGauges = () => {}
  let isStopped = false
  let known: ReadonlySet<string> | undefined
  // Types are registered before the first delivery.
  const isKnown = (type: string) => {
    known ??= new Set(receiver.eventTypes().types)
    return known.has(type)
  }
  const stop = () => {
    isStopped = true
    view.stop()
    stopGauges()
  }
  /** Gets a meter once an SDK is registered: unlike a tracer, a meter from before that time never takes effect. */
  const findMeter = () => {
    if (recording.metrics !== undefined) return
    const { meterProvider = metrics.getMeterProvider() } = options
    const meter = meterProvider.getMeter(SYSTEM, undefined, { schemaUrl: SCHEMA_URL })
    if (meter === createNoopMeter()) return
    recording = { ...recording, metrics: createMetrics(meter, view.name, isKnown) }
    stopGauges = observeGauges(meter, view)
  }
  const view = (receiver as Instrumentable & Observable)[OBSERVE]({
    begin: (work) =>
      attempt(() => {
        findMeter()
        if (work === 'delivery') return watchDelivery(recording, 'deliveries')
        if (work === 'dispatch') return watchDelivery(recording, 'dispatches')
        recording.metrics?.taken(work)
        return watchTry(recording, work, parent)
      }),
    onSettled: (_item, settlement) => attempt(() => recording.metrics?.settled(settlement)),
    onStalled: () => attempt(() => recording.metrics?.stalled()),
    onReplaced: () => stop(),
  }) // checked with the options
  let recording: Recording = { tracer, metrics: undefined, receiver: view.name }
  try {
    findMeter()
    receiver.intercept((run, event, _context, name) => (isStopped ? run() : recordRun(recording, run, event, name)))
  } catch (error) {
    stop()
    throw error
  }
  return { stop }
}

/** Runs a handler in its span. The measurement must not make the handler fail or wait. */
function recordRun(recording: Recording, run: () => unknown, event: AnyEvent<unknown>, name: string): unknown {
  const handler = attempt(() => beginRun(recording, event, name))
  if (handler === undefined) return run()
  const succeed = <T>(result: T): T => {
    attempt(() => handler.end())
    return result
  }
  const fail = (error: unknown): never => {
    attempt(() => handler.end(classOf(error)))
    throw error
  }
  let result: unknown
  try {
    result = context.with(handler.context, run)
  } catch (error) {
    return fail(error)
  }
  return result instanceof Promise ? result.then(succeed, fail) : succeed(result)
}

const check = new OptionChecker('instrument')

function checkInstrumentOptions(receiver: unknown, options: InstrumentOptions): void {
  check.mustBe('the receiver', receiver, withMethods('intercept', 'eventTypes'))
  if (!(OBSERVE in Object(receiver))) throw check.invalid('the receiver was not made by createReceiver().')
  check.mustFit(options, {
    tracerProvider: withMethods('getTracer'),
    meterProvider: withMethods('getMeter'),
    parent: FLAG,
  })
}
