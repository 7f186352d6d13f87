const ISO_TIME = /^(\d{4})-(\d{2})-(\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/

/**
 * Reads the time of an event, in milliseconds since 1970. Undefined unless it is ISO 8601 with a zone: a time without one is another
 * in each process, and `Date.parse` takes much that is no time at all.
 */
export function readTime(timestamp: string): number | undefined {
  const [, year, month, day] = ISO_TIME.exec(timestamp) ?? []
  if (year === undefined) return undefined
  // V8 takes the 30th of February for the 2nd of March.
  const midnight = new Date(`${year}-${month}-${day}T00:00:00Z`)
  if (midnight.getUTCDate() !== Number(day)) return undefined
  const time = Date.parse(timestamp)
  return Number.isNaN(time) ? undefined : time
}
