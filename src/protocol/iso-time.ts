/** Returns true if a date can hold this time: that of a damaged row may be any number. */
export function isTime(ms: number): boolean {
  return !Number.isNaN(new Date(ms).getTime())
}

/** Returns a time in ISO 8601; undefined if no date can hold it. */
export function toIso(ms: number): string | undefined {
  return isTime(ms) ? new Date(ms).toISOString() : undefined
}
