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
  type SpanOptions,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { AnyEvent, InboxItem, Outcome, TakenItem, Watch } from '../engine.ts'
import { codeOf, type Metrics, type Path } from './metrics.ts'
import { ATTRIBUTES, toOperation } from './names.ts'

/** Parts that all spans of a receiver share. */
export interface Recording {
  readonly tracer: Tracer
  /** Metrics; undefined until a metrics SDK is registered. */
  readonly metrics: Metrics | undefined
  readonly receiver: string
}

const OPEN = createContextKey('postern.open')
/** Value of `error.type` in the conventions for an error without a name. */
const OTHER = '_OTHER'

/** Begins the span of a delivery: a server span, or a child if there is a server span already: two would count the request twice. */
export function watchDelivery(recording: Recording, path: 'deliveries' | 'dispatches'): Watch {
  const above = trace.getSpan(context.active())
  const isServer = path === 'deliveries' && (above === undefined || above.spanContext().isRemote === true)
  const options = { kind: isServer ? SpanKind.SERVER : SpanKind.CONSUMER }
  return watchWork(recording, path, options, context.active())
}

/** Begins the span of a try: in a separate trace that is linked to the trace of the delivery, or in that trace if `isChild`. */
export function watchTry(recording: Recording, item: TakenItem, isChild: boolean): Watch {
  const { trace: carried, tries, isSuspect } = item
  const origin = toSpanContext(carried)
  const attributes = {
    [ATTRIBUTES.tryNumber]: (tries.at(-1)?.n ?? 0) + 1,
    ...(isSuspect && { [ATTRIBUTES.alone]: true }),
  }
  const links = origin === undefined || isChild ? [] : [{ context: origin }]
  const parent = origin !== undefined && isChild ? trace.setSpanContext(ROOT_CONTEXT, origin) : ROOT_CONTEXT
  return watchWork(recording, 'tries', { kind: SpanKind.CONSUMER, attributes, links }, parent)
}

/** Begins the span of a delivery, an event or a try. */
function watchWork(recording: Recording, path: Path, options: SpanOptions, parent: Context): Watch {
  const { tracer, receiver, metrics } = recording
  const begin = (operation: 'process' | 'send', { attributes, ...more }: SpanOptions, above: Context) =>
    tracer.startSpan(
      `${operation} ${receiver}`,
      { ...more, attributes: { ...toOperation(receiver, operation), ...attributes } },
      above,
    )
  const span = begin('process', options, parent)
  /** Handler runs that have not ended. */
  const open = new Set<HandlerRun>()
  const inner = trace.setSpan(parent, span).setValue(OPEN, open)
  let sending: { readonly span: Span; readonly startedAt: number } | undefined
  const endSpans = (outcome: Outcome) => {
    if (sending !== undefined) {
      if (outcome.outcome !== 'accepted') fail(sending.span, codeOf(outcome))
      sending.span.end()
      metrics?.put(outcome, performance.now() - sending.startedAt)
    }
    span.setAttributes(toAttributes(outcome))
    if (path === 'deliveries') span.setAttribute(ATTRIBUTES.status, outcome.status)
    if (hasFailed(path, outcome)) fail(span, codeOf(outcome))
    span.end()
  }
  return {
    with: (work) => context.with(inner, work),
    put(item, put) {
      const attributes = { [ATTRIBUTES.messageId]: item.id, [ATTRIBUTES.bodySize]: item.bytes.length }
      const sent = attempt(() => begin('send', { kind: SpanKind.PRODUCER, attributes }, inner))
      if (sent === undefined) return put(undefined)
      sending = { span: sent, startedAt: performance.now() }
      return context.with(trace.setSpan(inner, sent), () => put(attempt(() => toTrace(sent.spanContext()))))
    },
    onOutcome: (outcome, { durationMs }) =>
      attempt(() => {
        const isLateEnd = 'late' in outcome && outcome.late === true
        metrics?.ended(isLateEnd ? 'lateEnds' : path, outcome)
        if (path === 'deliveries' && !isLateEnd) metrics?.answered(outcome, durationMs)
        if (!isLateEnd) endSpans(outcome)
        // Handlers that still run were given up.
        if (outcome.outcome !== 'late') for (const run of [...open]) run.end('handler_abandoned')
      }),
  }
}

/** Returns true if the span failed. A mistake of the sender is no failure of the server; the try of a worker has no sender. */
function hasFailed(path: Path, { outcome, status }: Outcome): boolean {
  if (path !== 'tries') return status >= 500
  return outcome === 'failed' || outcome === 'error' || outcome === 'rejected' || outcome === 'ignored'
}

/** Run of one handler with its span. */
interface HandlerRun {
  /** Context in which the handler is to run. */
  readonly context: Context
  /** Ends the span at the first call; later ones do nothing. */
  end(errorType?: string): void
}

/** Begins the span of a handler's run. */
export function beginRun({ tracer, metrics }: Recording, event: AnyEvent<unknown>, name: string): HandlerRun {
  const parent = context.active()
  const span = tracer.startSpan(
    `handle ${name}`,
    { attributes: { [ATTRIBUTES.handler]: name, ...toEvent(event) } },
    parent,
  )
  const startedAt = performance.now()
  const open = parent.getValue(OPEN) as Set<HandlerRun> | undefined // set by watchWork alone
  let isOver = false
  const run: HandlerRun = {
    context: trace.setSpan(parent, span),
    end(errorType) {
      if (isOver) return
      isOver = true
      open?.delete(run)
      metrics?.handled(name, performance.now() - startedAt, errorType)
      if (errorType !== undefined) fail(span, errorType)
      span.end()
    },
  }
  open?.add(run)
  return run
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

/** Returns undefined if the SDK throws. */
export function attempt<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch (error) {
    diag.error('postern/otel: the SDK threw; events are handled without it', error)
    return undefined
  }
}
