import { randomBytes } from 'node:crypto'
import { type Claim, PosternError } from '../../src/engine.ts'

export const BUSY: Claim = { state: 'busy' }
export const DONE: Claim = { state: 'done' }
export const NO_MARKS: readonly string[] = []

/** 100 years: Postgres refuses to add longer times, and some drivers of SQLite do not pass them as whole numbers. */
export const LONGEST_RETENTION_MS = 100 * 365 * 24 * 3_600_000

/** Makes tokens of a prefix that no other store of any process has, so that a counter is enough behind it. */
export function makeTokens(): () => string {
  const self = randomBytes(12).toString('base64url')
  let count = 0
  return () => `${self}.${(count++).toString(36)}`
}

/** Error of a handler whose work did not keep to its transaction. */
export function misuse(message: string, cause?: unknown): PosternError {
  return new PosternError('transaction_misused', message, cause === undefined ? {} : { cause })
}

/** Error of a transaction whose claim is not the last one, or whose handler has finished. */
export function leaseLost(): PosternError {
  const why = 'Another process has taken over the event, or has finished this handler'
  return new PosternError('lease_lost', `${why}: the transaction was rolled back.`)
}

export function outdated(): PosternError {
  const why = 'A newer event of the record has completed'
  return new PosternError('event_outdated', `${why}: the transaction was rolled back.`)
}
