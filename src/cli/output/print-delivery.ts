import type { Delivery } from '../../client/client.ts'

/** The head of the columns of `toColumns`. */
export const COLUMNS = ['DELIVERY', 'CREATED', 'TYPE', 'EVENT', 'STATE', 'ATTEMPTS', 'RESULT']

/** A line of the log for people. */
export function toColumns(delivery: Delivery): readonly (string | number | undefined)[] {
  const { id, createdAt, eventType, eventId, state, status, attempts } = delivery
  const word = state === 'unknown' ? status : state
  return [id, createdAt?.toISOString(), eventType, eventId, word, attempts, showResult(delivery)]
}

/** A line for programs, without what else the service may say of it. */
export function toRecord({ raw: _raw, ...delivery }: Delivery): object {
  return delivery
}

/** Result of the last attempt, in a word: the status that the receiver answered, or why there was none. */
export function showResult({ responseStatus, error }: Delivery): string | undefined {
  return responseStatus === undefined ? error : String(responseStatus)
}
