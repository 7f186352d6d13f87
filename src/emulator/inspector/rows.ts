import type { Row } from '../../inspector/shapes.ts'
import { readCode } from '../../wire/code-word.ts'
import type { Delivery } from '../delivery.ts'

/** Makes a line of the page's list from a delivery, without bodies and headers, so that ten thousand can be sent. */
export function toRow(delivery: Delivery): Row {
  const { id, attempts, status, signing, resendOf = null, note = null, nextAttemptAt = null } = delivery
  const last = attempts.at(-1)
  return {
    id,
    account: delivery.accountKey,
    webhook: delivery.webhookId,
    event: delivery.eventId,
    type: delivery.eventType,
    status,
    signing,
    resendOf,
    note,
    at: delivery.createdAt,
    nextAt: nextAttemptAt,
    attempts: attempts.length,
    last:
      last === undefined
        ? null
        : {
            result: last.status === undefined ? (last.failure ?? '') : String(last.status),
            code: readCode(last.responseBody),
            isAcknowledged: last.failure === undefined,
            at: last.at,
            ms: Math.round(last.durationMs),
          },
  }
}
