import { createNoopMeter, diag, type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api'
import {
  type AnyEvent,
  type EventTypes,
  type Interceptor,
  type Observer,
  OptionChecker,
  type ReceiverView,
  type Settlement,
  type TakenItem,
  type Watch,
} from '../index.ts'
import { observeGauges } from './gauges.ts'
import { Metrics } from './metrics.ts'
import { SCHEMA_URL, SYSTEM } from './names.ts'
import { HandlerRun, type Recording, watchDelivery, watchTry } from './spans.ts'

/** Options of `instrument`. */
export interface InstrumentOptions {
  /** Default: the global one, also if it is registered later. */
  readonly tracerProvider?: TracerProvider
  /** Default: the global one, also if it is registered later. */
  readonly meterProvider?: MeterProvider
  /**
   * Whether a worker's try is a child of the delivery that brought its event. For backends that show no links: traces may then last for
   * days. Default: false; each try is a trace of its own, linked to the delivery's.
   */
  readonly parent?: boolean
}

/** What `instrument` set up. */
export interface Instrumentation {
  /** Ends spans and metrics of the receiver. Its deliveries go on. */
  stop(): void
}

/** The part of a receiver that is needed here, whatever its models are. */
interface Instrumentable {
  observe(observer: Observer): ReceiverView
  intercept(interceptor: Interceptor): unknown
  eventTypes(): EventTypes
}

/**
 * Has a receiver make spans and metrics by OpenTelemetry. Call it once for each receiver, before the first delivery. It registers no
 * provider: without an SDK it does nothing.
 *
 * @throws ConfigurationError `option_invalid`, also if the receiver is instrumented already; `option_unknown`, `registration_frozen`
 * @example
 * const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET })
 * instrument(receiver)
 */
export function instrument(receiver: Instrumentable, options: InstrumentOptions = {}): Instrumentation {
  checkOptions(receiver, options)
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
    this.#view = receiver.observe(this)
    this.#recording = { tracer, metrics: undefined, receiver: this.#view.name }
    attempt(() => this.#findMeter())
    try {
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

  begin(work: 'delivery' | 'dispatch' | TakenItem): Watch {
    attempt(() => this.#findMeter())
    if (work === 'delivery') return watchDelivery(this.#recording, 'deliveries')
    if (work === 'dispatch') return watchDelivery(this.#recording, 'dispatches')
    attempt(() => this.#recording.metrics?.taken(work))
    return watchTry(this.#recording, work, this.#options.parent === true)
  }

  onSettled(_item: TakenItem, settlement: Settlement): void {
    this.#recording.metrics?.settled(settlement)
  }

  onStalled(): void {
    this.#recording.metrics?.stalled()
  }

  onReplaced(): void {
    this.stop()
  }

  /** What is measured must not fail, or wait, because it is. */
  #handle(run: () => unknown, event: AnyEvent<unknown>, name: string): unknown {
    const handler = this.#isStopped ? undefined : attempt(() => new HandlerRun(this.#recording, event, name))
    if (handler === undefined) return run()
    let result: unknown
    try {
      result = handler.within(run)
    } catch {
      return this.#endFailed(run, handler)
    }
    if (!(result instanceof Promise)) {
      attempt(() => handler.end())
      return result
    }
    return result.then(
      (value) => {
        attempt(() => handler.end())
        return value
      },
      (error) => {
        attempt(() => handler.endWith(error))
        throw error
      },
    )
  }

  /** The handler threw, or the SDK did: `run` runs a handler once, and returns or throws what that came to. */
  #endFailed(run: () => unknown, handler: HandlerRun): unknown {
    try {
      const result = run()
      attempt(() => handler.end())
      return result
    } catch (error) {
      attempt(() => handler.endWith(error))
      throw error
    }
  }

  /** Unlike tracers, meters that were taken before the SDK is there stay without effect. */
  #findMeter(): void {
    if (this.#recording.metrics !== undefined) return
    const { meterProvider = metrics.getMeterProvider() } = this.#options
    const meter = meterProvider.getMeter(SYSTEM, undefined, { schemaUrl: SCHEMA_URL })
    if (meter === createNoopMeter()) return
    const { name } = this.#view
    this.#recording = { ...this.#recording, metrics: new Metrics(meter, name, (type) => this.#isKnown(type)) }
    this.#stopGauges = observeGauges(meter, this.#view)
  }

  /** Types are registered before the first delivery. */
  #isKnown(type: string): boolean {
    if (this.#knownTypes.size === 0) this.#knownTypes = new Set(this.#receiver.eventTypes().types)
    return this.#knownTypes.has(type)
  }
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch (error) {
    diag.error('postern/otel: the SDK threw; events are handled without it', error)
    return undefined
  }
}

const check = new OptionChecker('instrument')

function checkOptions(receiver: unknown, options: InstrumentOptions): void {
  check.hasMethods('the receiver', receiver, ['observe', 'intercept', 'eventTypes'])
  check.isObject(options, '{ tracerProvider }')
  const { tracerProvider, meterProvider, parent = false, ...unknown } = options
  check.isKnown(unknown, ['tracerProvider', 'meterProvider', 'parent'])
  if (tracerProvider !== undefined) check.hasMethods('tracerProvider', tracerProvider, ['getTracer'])
  if (meterProvider !== undefined) check.hasMethods('meterProvider', meterProvider, ['getMeter'])
  if (typeof parent !== 'boolean') throw check.invalid('parent is neither true nor false.')
}
