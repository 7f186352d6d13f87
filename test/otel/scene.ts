import { type Context, context, type Span, type SpanOptions, type Tracer, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  type DataPoint,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { onTestFinished } from 'vitest'

/** Like an app's SDK: contexts follow asynchronous work. */
export function enableContexts(): void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
}

/** An app's SDK, with exporters in memory. */
export class Sdk {
  readonly spanExporter = new InMemorySpanExporter()
  readonly tracerProvider: BasicTracerProvider
  readonly meterProvider: MeterProvider
  readonly #metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  readonly #reader = new PeriodicExportingMetricReader({
    exporter: this.#metricExporter,
    exportIntervalMillis: 3_600_000,
  })

  constructor(sampler?: Sampler) {
    const spanProcessors = [new SimpleSpanProcessor(this.spanExporter)]
    this.tracerProvider = new BasicTracerProvider({ spanProcessors, ...(sampler && { sampler }) })
    this.meterProvider = new MeterProvider({ readers: [this.#reader] })
    onTestFinished(() => this.meterProvider.shutdown())
  }

  /** Both providers, in the form that `instrument` takes. */
  get providers() {
    return { tracerProvider: this.tracerProvider, meterProvider: this.meterProvider }
  }

  get tracer(): Tracer {
    return this.tracerProvider.getTracer('the app')
  }

  /** Spans that have ended, in the order of their ends. */
  get spans(): readonly ReadableSpan[] {
    return this.spanExporter.getFinishedSpans()
  }

  /** Returns the only span of a name. */
  span(name: string): ReadableSpan {
    const [span, ...more] = this.spans.filter((each) => each.name === name)
    if (span === undefined || more.length > 0)
      throw new Error(`${more.length + (span ? 1 : 0)} spans ${name} of ${this.spans.map((each) => each.name)}`)
    return span
  }

  /** Returns the current metrics, by name. */
  async collect() {
    this.#metricExporter.reset()
    await this.#reader.forceFlush()
    const [latest] = this.#metricExporter.getMetrics().slice(-1)
    const scopes = latest?.scopeMetrics ?? []
    return new Map(scopes.flatMap(({ metrics }) => metrics).map((metric) => [metric.descriptor.name, metric]))
  }

  /** Returns the points of a counter or gauge, each as its attributes and value; without the attribute that names the receiver. */
  async points(name: string): Promise<readonly (readonly [attributes: object, value: number])[]> {
    const metric = (await this.collect()).get(name)
    return (metric?.dataPoints ?? []).map((point) => [withoutReceiver(point), (point as DataPoint<number>).value])
  }

  /** Returns the points of a histogram, each as its attributes and value. */
  async histograms(name: string): Promise<readonly (readonly [attributes: object, value: Histogram])[]> {
    const metric = (await this.collect()).get(name)
    return (metric?.dataPoints ?? []).map((point) => [withoutReceiver(point), (point as DataPoint<Histogram>).value])
  }

  /** Runs work below a span of the app, as an instrumented framework does. */
  async below<T>(name: string, work: () => Promise<T>, options: SpanOptions = {}, parent?: Context): Promise<T> {
    const span: Span = this.tracer.startSpan(name, options, parent)
    try {
      return await context.with(trace.setSpan(parent ?? context.active(), span), work)
    } finally {
      span.end()
    }
  }
}

function withoutReceiver({ attributes }: { readonly attributes: object }): object {
  const { 'messaging.destination.name': _, ...others } = attributes as Record<string, unknown>
  return others
}
