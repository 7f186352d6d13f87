import { hasRecord, type ParsedEvent } from '../protocol/envelope.ts'
import { type HandlerError, PosternError } from '../protocol/errors.ts'
import { type Outcome, Rejection, toFailed, toOutcome, toRejected } from '../protocol/outcome.ts'
import { type CheckedData, checkData } from '../protocol/schema.ts'
import { quote } from '../protocol/show.ts'
import type { Run } from './run.ts'
import type { Shared } from './shared.ts'

const NO_RECORD: CheckedData = { issues: [{ path: 'data.record', message: 'Expected an object with a string "_id".' }] }
const NOT_AS_ASKED = 'The record, or data, does not match the schema.'

/** Outcome of an event whose handlers may not begin, and how to settle its claim. */
interface Refusal {
  readonly outcome: Outcome
  readonly settleBy: 'release' | 'nothing'
}

/** Validates an event against its schema, if it has one. */
export function checkEvent({ route, event }: Run): CheckedData | Promise<CheckedData> | undefined {
  const { model, schema } = route
  if (model !== undefined && !hasRecord(event.data)) return NO_RECORD
  return schema && checkData(schema, model === undefined ? event.data : event.data.record)
}

/**
 * Replaces the data by the output of the schema. Returns a refusal if no handler may begin.
 *
 * @param checked undefined if there is no schema, or it was given up
 * @param abortReason reason for which the attempt was aborted while the schema ran
 */
export function takeChecked(
  shared: Shared,
  run: Run,
  checked: CheckedData | undefined,
  abortReason: HandlerError | undefined,
): Refusal | undefined {
  const { event, route } = run
  if (checked !== undefined) {
    if ('thrown' in checked) return refuseSchema(shared, run, checked.thrown)
    if ('issues' in checked) {
      const rejection = new Rejection('invalid_record', NOT_AS_ASKED, checked.issues)
      return { outcome: toRejected(rejection, run), settleBy: 'release' }
    }
    if (route.model !== undefined) event.data = { ...event.data, record: checked.value }
    else event.data = checked.value as ParsedEvent['data'] // handlers know the type of the schema's output
  }
  if (abortReason !== undefined) return refuseLate(run, abortReason)
  const isStopping = shared.isClosing || run.first.item?.signal.aborted
  return isStopping ? { outcome: toOutcome('closing', run), settleBy: 'release' } : undefined
}

/** Refuses an event whose schema took too long, or whose claim was lost meanwhile. */
function refuseLate(run: Run, reason: HandlerError): Refusal {
  if (reason.code === 'lease_lost') return { outcome: toFailed(503, 'lease_lost', reason, run), settleBy: 'nothing' }
  return { outcome: toFailed(500, 'schema_failed', reason, run), settleBy: 'release' }
}

function refuseSchema(shared: Shared, run: Run, cause: unknown): Refusal {
  const message = `The schema for ${quote(run.type)} gave neither an output nor issues.`
  const error = new PosternError('schema_failed', message, { cause })
  shared.reporter.error(error)
  return { outcome: toFailed(500, 'schema_failed', error, run), settleBy: 'release' }
}
