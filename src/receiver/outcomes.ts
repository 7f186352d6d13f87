import type { ParsedEvent } from '../protocol/envelope.ts'
import type { PosternError } from '../protocol/errors.ts'
import { type Failed, type Outcome, REJECTION_STATUS, type Rejected, type Rejection } from '../protocol/outcome.ts'

type EventOutcome = Extract<Outcome, { readonly id: string }>['outcome'] | 'closing' | 'overloaded'

const STATUS = {
  handled: 200,
  duplicate: 200,
  ignored: 200,
  busy: 409,
  late: 503,
  closing: 503,
  overloaded: 503,
} as const

/** The outcome of a verified event where its name says everything. */
export function toEventOutcome(outcome: EventOutcome, { id, type, accountKey }: ParsedEvent): Outcome {
  return { outcome, status: STATUS[outcome], id, type, accountKey } as Outcome // the table holds each name with its status
}

/** The outcome of an event that handlers, schema or store failed. */
export function toFailed(
  status: 500 | 503,
  code: Failed['code'],
  error: PosternError,
  { id, type, accountKey }: ParsedEvent,
): Failed {
  return { outcome: 'failed', status, code, error, id, type, accountKey }
}

/** The outcome of a refusal; with the event where the signature had held. */
export function toRejected({ code, reason, issues }: Rejection, event?: ParsedEvent): Rejected {
  const of = event && { id: event.id, type: event.type, accountKey: event.accountKey }
  return { outcome: 'rejected', status: REJECTION_STATUS[code], code, reason, issues, ...of }
}

/** The same outcome for a copy that waited for another delivery's run. */
export function asJoined(outcome: Outcome): Outcome {
  return { ...outcome, joined: true } as Outcome // spreading loses which fields belong together
}

/** The same outcome told again, after the answer. */
export function asLate(outcome: Outcome): Outcome {
  return { ...outcome, late: true } as Outcome // as above
}
