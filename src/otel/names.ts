import type { Attributes } from '@opentelemetry/api'

/**
 * Names of all spans and metrics of this package. Names that begin with `messaging.`, `http.` or `error.` follow the semantic
 * conventions of OpenTelemetry, in the release of {@link SCHEMA_URL}; names that begin with `postern.` are ours. A test compares them
 * with the table in `docs/guides/observability.md`.
 */
export const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.45.0'
/** Name of the instrumentation scope, and value of `messaging.system.name`. */
export const SYSTEM = 'postern'

export const ATTRIBUTES = {
  system: 'messaging.system.name',
  operation: 'messaging.operation.name',
  operationType: 'messaging.operation.type',
  destination: 'messaging.destination.name',
  messageId: 'messaging.message.id',
  bodySize: 'messaging.message.body.size',
  status: 'http.response.status_code',
  errorType: 'error.type',
  eventType: 'postern.event.type',
  account: 'postern.account.key',
  outcome: 'postern.outcome',
  code: 'postern.code',
  joined: 'postern.joined',
  handler: 'postern.handler.name',
  tryNumber: 'postern.try.number',
  alone: 'postern.try.alone',
} as const

export const METRICS = {
  deliveries: 'postern.deliveries',
  dispatches: 'postern.dispatches',
  lateEnds: 'postern.late_ends',
  tries: 'postern.tries',
  deadLetters: 'postern.inbox.dead_letters',
  stalls: 'postern.inbox.stalls',
  suspects: 'postern.inbox.suspects',
  revivals: 'postern.inbox.revivals',
  answerTime: 'postern.delivery.duration',
  handlerTime: 'messaging.process.duration',
  putTime: 'messaging.client.operation.duration',
  inboxTime: 'postern.inbox.wait.duration',
  inFlight: 'postern.in_flight',
  waiting: 'postern.inbox.waiting',
  running: 'postern.inbox.running',
  dead: 'postern.inbox.dead',
  oldestAge: 'postern.inbox.oldest.age',
  queryFailures: 'postern.inbox.query_failures',
} as const

/** Buckets from 5 ms to an hour, in seconds. */
export const WORK_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600]
/** Buckets from 5 ms to 7 days, in seconds. */
export const WAIT_BUCKETS = [0.005, 0.05, 0.25, 1, 5, 15, 60, 300, 900, 3_600, 21_600, 86_400, 259_200, 604_800]

/** Returns the attributes that describe an operation on an event in the conventions. */
export function toOperation(receiver: string, operation: 'process' | 'send'): Attributes {
  return {
    [ATTRIBUTES.system]: SYSTEM,
    [ATTRIBUTES.operation]: operation,
    [ATTRIBUTES.operationType]: operation,
    [ATTRIBUTES.destination]: receiver,
  }
}
