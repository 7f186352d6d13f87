import { InvalidArgumentError } from 'commander'
import type { Delivery } from '../../client/client.ts'
import { parseDuration } from '../../host/duration.ts'

/** Events of these types; all of them if none is named. `*` stands for any text: `contact.*`, `*.deleted`. */
export function isOfTypes(types: readonly string[] | undefined): (of: Pick<Delivery, 'eventType'>) => boolean {
  if (types === undefined) return () => true
  const patterns = types.map((type) => new RegExp(`^${type.split('*').map(escapeRegExp).join('.*')}$`, 's'))
  return ({ eventType = '' }) => patterns.some((pattern) => pattern.test(eventType))
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.|?+()[\]{}-]/g, '\\$&')
}

/** A point in time: so long ago, `24h`, or a date. */
export function readSince(value: string): Date {
  try {
    return new Date(Date.now() - parseDuration(value))
  } catch {
    const date = /^\d{4}-\d\d-\d\d/.test(value) ? new Date(value) : undefined
    if (date !== undefined && !Number.isNaN(date.getTime())) return date
    throw new InvalidArgumentError('It is a length of time, 24h or 7d, or a date: 2025-01-31T12:00:00Z.')
  }
}
