import type { Delivery, Webhook } from '../../../src/client/client.ts'

export const COLUMNS = ['DELIVERY', 'CREATED', 'TYPE', 'EVENT', 'STATE', 'ATTEMPTS', 'RESULT']

export function toColumns(delivery: Delivery): readonly (string | number | undefined)[] {
  const { id, createdAt, eventType, eventId, state, status, attempts } = delivery
  const word = state === 'unknown' ? status : state
  return [id, createdAt?.toISOString(), eventType, eventId, word, attempts, showResult(delivery)]
}

/** Record for programs, without the raw answer of the service. */
export function withoutRaw({ raw: _raw, ...record }: Delivery | Webhook): object {
  return record
}

/** Returns the status that the receiver answered to the last attempt, or why there is none. */
export function showResult({ responseStatus, error }: Delivery): string | undefined {
  return responseStatus === undefined ? error : String(responseStatus)
}
