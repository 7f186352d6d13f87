import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  createTraceState,
  diag,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { AnyEvent, InboxItem, Outcome, OutcomeInfo, TakenItem, Watch } from '../engine.ts'
import { codeOf, type Metrics, type Path } from './metrics.ts'
import { ATTRIBUTES, toOperation } from './names.ts'

/** Parts that all spans of a receiver share. */
export interface Recording {
  readonly tracer: Tracer
  /** Metrics; undefined until a metrics SDK is registered. */
  readonly metrics: Metrics | undefined
  readonly receiver: string
}

const WATCH = createContextKey('postern.watch')
/** Value of `error.type` in the conventions for an error without a name. */
const OTHER = '_OTHER'

/** Begins the span of a delivery: a server span, or a child if there is a server span already: two would count the request twice. */
export function watchDelivery(recording: Recording, path: 'deliveries' | 'dispatches'): WatchedWork {
  const above = trace.getSpan(context.active())
  const isServer = path === 'deliveries' && (above === undefined || above.spanContext().isRemote === true)
  const options = { kind: isServer ? SpanKind.SERVER : SpanKind.CONSUMER }
  return new WatchedWork(recording, path, options, context.active())
}

/** Begins the span of a try: in a separate trace that is linked to the trace of the delivery, or in that trace if `isChild`. */
export function watchTry(recording: Recording, item: TakenItem, isChild: boolean): WatchedWork {
  const { trace: carried, tries, isSuspect } = item
  const origin = toSpanContext(carried)
  const attributes = {
    [ATTRIBUTES.tryNumber]: (tries.at(-1)?.n ?? 0) + 1,
    ...(isSuspect && { [ATTRIBUTES.alone]: true }),
  }
  const links = origin === undefined || isChild ? [] : [{ context: origin }]
  const parent = origin !== undefined && isChild ? trace.setSpanContext(ROOT_CONTEXT, origin) : ROOT_CONTEXT
  return new WatchedWork(recording, 'tries', { kind: SpanKind.CONSUMER, attributes, links }, parent)
}

/** Delivery, event or try with its span, and the spans of its handlers. */
export class WatchedWork implements Watch {
  readonly #recording: Recording
  readonly #path: Path
  readonly #span: Span
  readonly #context: Context
  /** Handler runs that have not ended. */
  readonly open = new Set<HandlerRun>()
  #sending: { readonly span: Span; readonly startedAt: number } | undefined

  constructor(recording: Recording, path: Path, options: Parameters<Tracer['startSpan']>[1], parent: Context) {
    const attributes = { ...toOperation(recording.receiver, 'process'), ...options?.attributes }
    this.#recording = recording
    this.#path = path
    this.#span = recording.tracer.startSpan(`process ${recording.receiver}`, { ...options, attributes }, parent)
    this.#context = trace.setSpan(parent, this.#span).setValue(WATCH, this)
  }

  with<T>(work: () => T): T {
    return within(this.#context, work)
  }

  put<T>(item: InboxItem, put: (trace: InboxItem['trace']) => T): T {
    const sending = attempt(() => this.#beginSending(item))
    return sending === undefined ? put(undefined) : within(sending.context, () => put(sending.trace))
  }

  onOutcome(outcome: Outcome, info: OutcomeInfo): void {
    attempt(() => this.#end(outcome, info))
  }

  #beginSending(item: InboxItem): { readonly context: Context; readonly trace: InboxItem['trace'] } {
    const attributes = {
      ...toOperation(this.#recording.receiver, 'send'),
      [ATTRIBUTES.messageId]: item.id,
      [ATTRIBUTES.bodySize]: item.bytes.length,
    }
    const name = `send ${this.#recording.receiver}`
    const span = this.#recording.tracer.startSpan(name, { kind: SpanKind.PRODUCER, attributes }, this.#context)
    this.#sending = { span, startedAt: performance.now() }
    return { context: trace.setSpan(this.#context, span), trace: toTrace(span.spanContext()) }
  }

  #end(outcome: Outcome, { durationMs }: OutcomeInfo): void {
    const { metrics } = this.#recording
    const isLateEnd = 'late' in outcome && outcome.late === true
    metrics?.ended(isLateEnd ? 'lateEnds' : this.#path, outcome)
    if (this.#path === 'deliveries' && !isLateEnd) metrics?.answered(outcome, durationMs)
    if (!isLateEnd) this.#endSpans(outcome)
    // Handlers that still run were given up.
    if (outcome.outcome !== 'late') for (const run of [...this.open]) run.end('handler_abandoned')
  }

  #endSpans(outcome: Outcome): void {
    if (this.#sending !== undefined) {
      const { span, startedAt } = this.#sending
      if (outcome.outcome !== 'accepted') fail(span, codeOf(outcome))
      span.end()
      this.#recording.metrics?.put(outcome, performance.now() - startedAt)
    }
    this.#span.setAttributes(toAttributes(outcome))
    if (this.#path === 'deliveries') this.#span.setAttribute(ATTRIBUTES.status, outcome.status)
    if (this.#hasFailed(outcome)) fail(this.#span, codeOf(outcome))
    this.#span.end()
  }

  /** Returns true if the span failed. A mistake of the sender is no failure of the server; the try of a worker has no sender. */
  #hasFailed({ outcome, status }: Outcome): boolean {
    if (this.#path !== 'tries') return status >= 500
    return outcome === 'failed' || outcome === 'error' || outcome === 'rejected' || outcome === 'ignored'
  }
}

/** Run of one handler with its span. The first call of `end` ends it; later ones do nothing. */
export class HandlerRun {
  readonly #recording: Recording
  readonly #name: string
  readonly #span: Span
  readonly #context: Context
  readonly #startedAt = performance.now()
  readonly #watch: WatchedWork | undefined
  #isOver = false

  constructor(recording: Recording, event: AnyEvent<unknown>, name: string) {
    const parent = context.active()
    const watch = parent.getValue(WATCH)
    const attributes = { [ATTRIBUTES.handler]: name, ...toEvent(event) }
    this.#recording = recording
    this.#name = name
    this.#span = recording.tracer.startSpan(`handle ${name}`, { attributes }, parent)
    this.#context = trace.setSpan(parent, this.#span)
    this.#watch = watch instanceof WatchedWork ? watch : undefined
    this.#watch?.open.add(this)
  }

  within<T>(run: () => T): T {
    const ran = within(this.#context, () => {
      try {
        return { result: run() }
      } catch (error) {
        return { error }
      }
    })
    if ('error' in ran) throw ran.error
    return ran.result
  }

  end(errorType?: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#watch?.open.delete(this)
    this.#recording.metrics?.handled(this.#name, performance.now() - this.#startedAt, errorType)
    if (errorType !== undefined) fail(this.#span, errorType)
    this.#span.end()
  }
}

/** Marks a span as failed. Sets no message: the message of an error may hold text that a sender or a customer wrote. */
function fail(span: Span, errorType: string): void {
  span.setAttribute(ATTRIBUTES.errorType, errorType)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

function toEvent({ id, type, accountKey }: Pick<AnyEvent<unknown>, 'id' | 'type' | 'accountKey'>): Attributes {
  return { [ATTRIBUTES.messageId]: id, [ATTRIBUTES.eventType]: type, [ATTRIBUTES.account]: accountKey }
}

function toAttributes(outcome: Outcome): Attributes {
  const { id, type, accountKey } = outcome
  const isNamed = id !== undefined && type !== undefined && accountKey !== undefined
  return {
    ...(isNamed && toEvent({ id, type, accountKey })),
    [ATTRIBUTES.outcome]: outcome.outcome,
    ...('code' in outcome && { [ATTRIBUTES.code]: outcome.code }),
    ...('joined' in outcome && { [ATTRIBUTES.joined]: true }),
  }
}

/** Returns the class of the value that a handler threw. Never its message or its `name`, which may hold any text of the app. */
export function classOf(thrown: unknown): string {
  return (typeof Object(thrown).stack === 'string' && Object(thrown).constructor.name) || OTHER
}

/** Returns the W3C Trace Context headers of a span, as an item carries them; undefined if there is no trace. */
function toTrace(span: SpanContext): InboxItem['trace'] {
  if (!isSpanContextValid(span)) return undefined
  const flags = (span.traceFlags & 0xff).toString(16).padStart(2, '0')
  const traceparent = `00-${span.traceId}-${span.spanId}-${flags}`
  const tracestate = span.traceState?.serialize()
  return tracestate ? { traceparent, tracestate } : { traceparent }
}

/** Returns the span that an item names; undefined if it names none. Items come from an engine, and are not trusted. */
function toSpanContext(trace: InboxItem['trace']): SpanContext | undefined {
  const { traceparent, tracestate }: { traceparent?: unknown; tracestate?: unknown } = Object(trace)
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(String(traceparent)) ?? []
  if (traceId === undefined || spanId === undefined) return undefined
  const span: SpanContext = {
    traceId,
    spanId,
    isRemote: true,
    traceFlags: Number.parseInt(flags ?? '', 16),
    ...(typeof tracestate === 'string' && { traceState: createTraceState(tracestate) }),
  }
  return isSpanContextValid(span) ? span : undefined
}

/** Calls `work`, which must not throw, within a context, and exactly once, whatever the context manager does. */
function within<T>(inner: Context, work: () => T): T {
  const results: T[] = []
  attempt(() => context.with(inner, () => results.length === 0 && results.push(work())))
  return results.length === 0 ? work() : (results[0] as T) // the line above put it there
}

/** Returns undefined if the SDK throws. */
export function attempt<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch (error) {
    try {
      diag.error('postern/otel: the SDK threw; events are handled without it', error)
    } catch {
      // The logger of the diagnostics threw as well.
    }
    return undefined
  }
}
