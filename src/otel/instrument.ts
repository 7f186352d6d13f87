import { createNoopMeter, type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api'
import {
  type AnyEvent,
  type EventTypes,
  type Interceptor,
  OBSERVE,
  type Observable,
  type Observer,
  OptionChecker,
  type ReceiverView,
  type Settlement,
  type TakenItem,
  type Watch,
} from '../engine.ts'
import { observeGauges } from './gauges.ts'
import { Metrics } from './metrics.ts'
import { SCHEMA_URL, SYSTEM } from './names.ts'
import { attempt, classOf, HandlerRun, type Recording, watchDelivery, watchTry } from './spans.ts'

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
  const instrumented = new InstrumentedReceiver(receiver, options)
  return { stop: () => instrumented.stop() }
}

class InstrumentedReceiver implements Observer {
  readonly #receiver: Instrumentable
  readonly #options: InstrumentOptions
  readonly #view: ReceiverView
  #recording: Recording
  #knownTypes: ReadonlySet<string> = new Set()
  #stopGauges: (() => void) | undefined
  #isStopped = false

  constructor(receiver: Instrumentable, options: InstrumentOptions) {
    const { tracerProvider = trace.getTracerProvider() } = options
    const tracer = tracerProvider.getTracer(SYSTEM, undefined, { schemaUrl: SCHEMA_URL })
    this.#receiver = receiver
    this.#options = options
    this.#view = (receiver as Instrumentable & Observable)[OBSERVE](this) // checked with the options
    this.#recording = { tracer, metrics: undefined, receiver: this.#view.name }
    try {
      this.#findMeter()
      receiver.intercept((run, event, _context, name) => this.#handle(run, event, name))
    } catch (error) {
      this.stop()
      throw error
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#view.stop()
    this.#stopGauges?.()
  }

  begin(work: 'delivery' | 'dispatch' | TakenItem): Watch | undefined {
    return attempt(() => {
      this.#findMeter()
      if (work === 'delivery') return watchDelivery(this.#recording, 'deliveries')
      if (work === 'dispatch') return watchDelivery(this.#recording, 'dispatches')
      this.#recording.metrics?.taken(work)
      return watchTry(this.#recording, work, this.#options.parent === true)
    })
  }

  onSettled(_item: TakenItem, settlement: Settlement): void {
    attempt(() => this.#recording.metrics?.settled(settlement))
  }

  onStalled(): void {
    attempt(() => this.#recording.metrics?.stalled())
  }

  onReplaced(): void {
    this.stop()
  }

  /** Runs a handler in its span. The measurement must not make the handler fail or wait. */
  #handle(run: () => unknown, event: AnyEvent<unknown>, name: string): unknown {
    const handler = this.#isStopped ? undefined : attempt(() => new HandlerRun(this.#recording, event, name))
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
      result = handler.within(run)
    } catch (error) {
      return fail(error)
    }
    return result instanceof Promise ? result.then(succeed, fail) : succeed(result)
  }

  /** Gets a meter once an SDK is registered: unlike a tracer, a meter from before that time never takes effect. */
  #findMeter(): void {
    if (this.#recording.metrics !== undefined) return
    const { meterProvider = metrics.getMeterProvider() } = this.#options
    const meter = meterProvider.getMeter(SYSTEM, undefined, { schemaUrl: SCHEMA_URL })
    if (meter === createNoopMeter()) return
    const { name } = this.#view
    this.#recording = { ...this.#recording, metrics: new Metrics(meter, name, (type) => this.#isKnown(type)) }
    this.#stopGauges = observeGauges(meter, this.#view)
  }

  /** Returns true if a handler names the type. Types are registered before the first delivery. */
  #isKnown(type: string): boolean {
    if (this.#knownTypes.size === 0) this.#knownTypes = new Set(this.#receiver.eventTypes().types)
    return this.#knownTypes.has(type)
  }
}

const check = new OptionChecker('instrument')

function checkInstrumentOptions(receiver: unknown, options: InstrumentOptions): void {
  check.mustHaveMethods('the receiver', receiver, ['intercept', 'eventTypes'])
  if (!(OBSERVE in Object(receiver))) throw check.invalid('the receiver was not made by createReceiver().')
  check.mustBeObject(options, '{ tracerProvider }')
  const { tracerProvider, meterProvider, parent = false } = options
  check.mustHaveOnly(options, ['tracerProvider', 'meterProvider', 'parent'])
  if (tracerProvider !== undefined) check.mustHaveMethods('tracerProvider', tracerProvider, ['getTracer'])
  if (meterProvider !== undefined) check.mustHaveMethods('meterProvider', meterProvider, ['getMeter'])
  if (typeof parent !== 'boolean') throw check.invalid('parent is neither true nor false.')
}
