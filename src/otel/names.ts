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

/** Counters of outcomes, by the path on which they occurred, and of the inbox: the name, the unit and the description of each. */
export const COUNTERS = {
  deliveries: ['postern.deliveries', '{delivery}', 'Deliveries by the outcome they were answered with'],
  dispatches: ['postern.dispatches', '{event}', 'Events given to dispatch(), by outcome'],
  lateEnds: ['postern.late_ends', '{delivery}', 'Deliveries answered late, by the outcome they came to'],
  tries: ['postern.tries', '{try}', 'Tries of workers by outcome'],
  deadLetters: ['postern.inbox.dead_letters', '{event}', 'Events that became dead letters, by why'],
  stalls: ['postern.inbox.stalls', '{event}', 'Events that another worker took while they ran here'],
  suspects: ['postern.inbox.suspects', '{try}', 'Tries of events that ran alone since their worker died'],
  revivals: ['postern.inbox.revivals', '{event}', 'Dead letters that were tried again'],
} as const

/** Buckets from 5 ms to an hour, in seconds. */
const WORK_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600]
/** Buckets from 5 ms to 7 days, in seconds. */
const WAIT_BUCKETS = [0.005, 0.05, 0.25, 1, 5, 15, 60, 300, 900, 3_600, 21_600, 86_400, 259_200, 604_800]

/** Histograms of durations in seconds: the name, the buckets and the description of each. */
export const HISTOGRAMS = {
  answerTime: ['postern.delivery.duration', WORK_BUCKETS, 'From the first sight of a delivery to its answer'],
  handlerTime: ['messaging.process.duration', WORK_BUCKETS, 'Of each run of a handler'],
  putTime: ['messaging.client.operation.duration', WORK_BUCKETS, 'Of putting an event into the inbox'],
  inboxTime: ['postern.inbox.wait.duration', WAIT_BUCKETS, 'From when an event was due to its try'],
} as const

const OF_INBOX = 'of the inbox, in any process; 10,000 stands for as many or more'

/** Gauges: the name, the unit and the description of each. */
export const GAUGES = {
  waiting: ['postern.inbox.waiting', '{event}', `Events that wait, ${OF_INBOX}`],
  parked: ['postern.inbox.parked', '{event}', `Events that wait for another one of their lane, ${OF_INBOX}`],
  running: ['postern.inbox.running', '{event}', `Events that run, ${OF_INBOX}`],
  dead: ['postern.inbox.dead', '{event}', `Dead letters ${OF_INBOX}`],
  oldestAge: ['postern.inbox.oldest.age', 's', 'How long the oldest event of the inbox could have run'],
} as const

export const IN_FLIGHT = 'postern.in_flight'
export const QUERY_FAILURES = 'postern.inbox.query_failures'

/** Makes an instrument of each definition. */
export function makeAll<Name extends string, Definition, Instrument>(
  definitions: Readonly<Record<Name, Definition>>,
  make: (definition: Definition) => Instrument,
): Readonly<Record<Name, Instrument>> {
  const made = Object.entries<Definition>(definitions).map(([name, definition]) => [name, make(definition)])
  return Object.fromEntries(made) as Record<Name, Instrument> // the same names
}

/** Returns the attributes that describe an operation on an event in the conventions. */
export function toOperation(receiver: string, operation: 'process' | 'send'): Attributes {
  return {
    [ATTRIBUTES.system]: SYSTEM,
    [ATTRIBUTES.operation]: operation,
    [ATTRIBUTES.operationType]: operation,
    [ATTRIBUTES.destination]: receiver,
  }
}
