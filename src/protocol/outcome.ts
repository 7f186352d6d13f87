import type { PosternError } from './errors.ts'
import type { WebhookEvent } from './events.ts'
import { RETRY_AFTER_SECONDS } from './schedule.ts'
import type { Issue } from './schema.ts'

/** Codes of refused requests, with the status of the answer. A test compares this table with `docs/reference/errors.md`. */
export const REJECTION_STATUS = {
  method_not_allowed: 405,
  unsupported_encoding: 415,
  body_too_large: 413,
  body_timeout: 408,
  body_incomplete: 400,
  signature_missing: 401,
  signature_malformed: 401,
  signature_mismatch: 401,
  signature_expired: 401,
  unknown_source: 401,
  account_mismatch: 401,
  invalid_utf8: 400,
  invalid_json: 400,
  invalid_envelope: 400,
  invalid_record: 422,
  event_too_old: 422,
} as const

/** A code of {@link REJECTION_STATUS}. */
export type RejectionCode = keyof typeof REJECTION_STATUS

/** A refusal, as a value: nothing that a sender does throws. */
export class Rejection {
  readonly code: RejectionCode
  /** One sentence for the owner. It never goes to the sender. */
  readonly reason: string
  readonly issues: readonly Issue[]

  constructor(code: RejectionCode, reason: string, issues: readonly Issue[] = []) {
    this.code = code
    this.reason = reason
    this.issues = Object.freeze(issues.map((issue) => Object.freeze(issue))) // shared by all deliveries with this rejection
  }
}

/** The fields that name a verified event. */
type OfEvent = {
  readonly id: string
  readonly type: string
  readonly accountKey: string
  /** This delivery is a duplicate that waited for the event under way, and shares its result. */
  readonly joined?: true | undefined
  /** Names of the handlers with `order: 'latest'` that count as finished since the event was outdated for them. Undefined if there are none. */
  readonly skipped?: readonly string[] | undefined
  /** Reported a second time: the work ended after its delivery had been answered `late`. */
  readonly late?: true | undefined
}

/**
 * `handled`: every handler has done its work. `accepted`: the event is in the inbox, on disk; its handlers run later. `duplicate`: it had been
 * handled before; no handler ran. `ignored`: no handler is registered for events of this type.
 */
type Acknowledged = OfEvent & {
  readonly outcome: 'handled' | 'accepted' | 'duplicate' | 'ignored'
  readonly status: 200
}

/** Another process is handling the event, and had not ended by the deadline. */
type Busy = OfEvent & { readonly outcome: 'busy'; readonly status: 409 | 503 }

/** The handlers were still running at the deadline. They go on; a final outcome with `late: true` follows. */
type Late = OfEvent & { readonly outcome: 'late'; readonly status: 503 }

/** Sender-caused: the delivery was turned away and no handler ran. `id` and what follows are there once the signature held. */
type Rejected = Partial<OfEvent> & {
  readonly outcome: 'rejected'
  readonly status: (typeof REJECTION_STATUS)[RejectionCode] | 503
  readonly code: RejectionCode
  readonly reason: string
  readonly issues: readonly Issue[]
}

/** Something on the app's side failed, and the service's next attempt may go better. */
export type Failed = Partial<OfEvent> & {
  readonly outcome: 'failed'
  readonly status: 500 | 503
  readonly code:
    | 'handler_failed'
    | 'handler_abandoned'
    | 'lease_lost'
    | 'schema_failed'
    | 'store_unavailable'
    | 'inbox_unavailable'
    | 'secrets_unavailable'
    | 'secret_unbound'
    | 'unexpected'
  readonly error: PosternError
}

/** The app is put together wrongly: no attempt can succeed before its owner repairs it. */
type AppError = Partial<OfEvent> & {
  readonly outcome: 'error'
  readonly status: 500 | 503
  readonly code: 'no_handlers' | 'body_consumed'
  readonly error: PosternError
}

/** The delivery was put off: the receiver is closing, or is at its `maxInFlight` or `maxBufferedBytes`. 408 answers a body that was cut for that. */
type PutOff = Partial<OfEvent> & {
  readonly outcome: 'closing' | 'overloaded'
  readonly status: 503 | 408
  /** Limit that an `overloaded` delivery met, and the option to raise, for the owner. */
  readonly reason?: string | undefined
}

/** Returns the outcome for a sender that may repeat an event after 503, but not after 500, 409 or 422, as Typeform does. */
export function toRetried(outcome: Outcome): Outcome {
  const { outcome: kind } = outcome
  if (kind === 'failed' || kind === 'busy' || kind === 'error') return { ...outcome, status: 503 }
  return kind === 'rejected' && outcome.code === 'invalid_record' ? { ...outcome, status: 503 } : outcome
}

/** The result of one delivery. `status` is the HTTP answer; only 2xx acknowledges the event to the service. */
export type Outcome = Acknowledged | Busy | Late | Rejected | Failed | AppError | PutOff

type Verified = Pick<WebhookEvent, 'id' | 'type' | 'accountKey'>
type OutcomeName = (Acknowledged | Busy | Late)['outcome'] | 'closing'

const STATUS: Readonly<Record<OutcomeName, number>> = {
  handled: 200,
  accepted: 200,
  duplicate: 200,
  ignored: 200,
  busy: 409,
  late: 503,
  closing: 503,
}

/** Returns the outcome of a verified event that has no further fields. */
export function toOutcome(outcome: OutcomeName, { id, type, accountKey }: Verified): Outcome {
  return { outcome, status: STATUS[outcome], id, type, accountKey } as Outcome // the table holds each name with its status
}

/** Returns the outcome of a delivery for which there is no room. */
export function toOverloaded(status: PutOff['status'], reason: string, event?: Verified): PutOff {
  const of = event && { id: event.id, type: event.type, accountKey: event.accountKey }
  return { outcome: 'overloaded', status, reason, ...of }
}

/** Returns the code or the name of an outcome. */
export function codeOf(outcome: Outcome): string {
  return 'code' in outcome ? outcome.code : outcome.outcome
}

/** Returns the outcome of an event that failed in handlers, schema or store. */
export function toFailed(
  status: 500 | 503,
  code: Failed['code'],
  error: PosternError,
  { id, type, accountKey }: Verified,
): Failed {
  return { outcome: 'failed', status, code, error, id, type, accountKey }
}

/** Returns the outcome of a refusal, with the event if its signature held. */
export function toRejected({ code, reason, issues }: Rejection, event?: Verified): Rejected {
  const of = event && { id: event.id, type: event.type, accountKey: event.accountKey }
  return { outcome: 'rejected', status: REJECTION_STATUS[code], code, reason, issues, ...of }
}

/** The HTTP answer of a delivery. Adapters write it as it is. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** JSON text: a code word, and the event id once the signature held. */
  readonly body: string
  /** The connection ends after this answer: the rest of the request can't be waited for, or the receiver is closing. */
  readonly close: boolean
  /** The time, in milliseconds, for which the rest of the request is read and thrown away before the socket is ended. */
  readonly drainMs: number
}

const JSON_ONLY = { 'content-type': 'application/json' }
const WITH_ALLOW = { ...JSON_ONLY, allow: 'POST' }
const WITH_RETRY = { ...JSON_ONLY, 'retry-after': String(RETRY_AFTER_SECONDS) }

/** Returns the reply for an outcome. It never contains a message, a stack, issues or a secret: anyone may read it. */
export function toReply(outcome: Outcome, close: boolean, drainMs: number): Reply {
  const { status, id } = outcome
  const headers = status === 409 || status === 503 ? WITH_RETRY : status === 405 ? WITH_ALLOW : JSON_ONLY
  const code = `{"code":"${status === 401 ? 'unauthorized' : codeOf(outcome)}"`
  const body = id === undefined ? `${code}}` : `${code},"id":${JSON.stringify(id)}}`
  return { status, headers, body, close, drainMs }
}
