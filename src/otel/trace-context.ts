import { createTraceState, isSpanContextValid, type SpanContext } from '@opentelemetry/api'
import type { InboxItem } from '../index.ts'

/** Returns the W3C Trace Context headers of a span, as an item carries them; undefined if there is no trace. */
export function toTrace(span: SpanContext): InboxItem['trace'] {
  if (!isSpanContextValid(span)) return undefined
  const flags = (span.traceFlags & 0xff).toString(16).padStart(2, '0')
  const traceparent = `00-${span.traceId}-${span.spanId}-${flags}`
  const tracestate = span.traceState?.serialize()
  return tracestate ? { traceparent, tracestate } : { traceparent }
}

/** Returns the span that an item names; undefined if it names none. Items come from an engine, and are not trusted. */
export function toSpanContext(trace: InboxItem['trace']): SpanContext | undefined {
  const { traceparent, tracestate }: { traceparent?: unknown; tracestate?: unknown } = Object(trace)
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(String(traceparent)) ?? []
  if (traceId === undefined || spanId === undefined) return undefined
  const span: SpanContext = {
    ...{ traceId, spanId, isRemote: true, traceFlags: Number.parseInt(flags ?? '', 16) },
    ...(typeof tracestate === 'string' && { traceState: createTraceState(tracestate) }),
  }
  return isSpanContextValid(span) ? span : undefined
}
