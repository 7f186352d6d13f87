/** Returns true if a date can hold this time: that of a damaged row may be any number. */
export function isTime(ms: number): boolean {
  return !Number.isNaN(new Date(ms).getTime())
}

/** Returns a time in ISO 8601; undefined if no date can hold it. */
export function toIso(ms: number): string | undefined {
  return isTime(ms) ? new Date(ms).toISOString() : undefined
}

/**
 * Parses a date of ISO 8601, with or without a time, in milliseconds since 1970. NaN for none, for another form, and for a day that no calendar
 * has: V8 reads February 30 as March 2.
 */
export function parseTime(text: string): number {
  const [date = '', day] = /^\d{4}-\d\d-(\d\d)/.exec(text) ?? []
  return new Date(date).getUTCDate() === Number(day) ? Date.parse(text) : Number.NaN
}
