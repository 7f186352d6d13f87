import { createHash } from 'node:crypto'
import { readCode, readFailure } from '../../wire/code-word.ts'
import type { DeliveryAttempt, Reason } from '../delivery.ts'

/** Limit of a reason, which is shown in one line. */
const LONGEST = 300

/** Names the reason of a failed attempt: the error of the handler if the receiver reports it, the first line of its answer, or the failure. */
export function reasonOf({ failure, status, error, responseBody }: DeliveryAttempt): Reason | null {
  if (failure === undefined) return null
  const reported = readFailure(responseBody)
  if (reported !== undefined) return toReason(reported.text, reported.handlers)
  const text =
    status === undefined ? `${failure}: ${error}` : `${status} ${readCode(responseBody) ?? responseBody.trim()}`
  return toReason(text)
}

/** The first line of an error, without a name that says nothing. A line that is cut keeps its identity by a hash. */
export function toReason(error: string, handlers: readonly string[] = []): Reason {
  const line = (error.split('\n', 1)[0] ?? '').replace(/^Error: (?=.)/, '').trim()
  if (line.length <= LONGEST) return { text: line, handlers }
  const hash = createHash('sha256').update(line).digest('hex').slice(0, 8)
  return { text: `${line.slice(0, LONGEST)}… ${hash}`, handlers }
}
