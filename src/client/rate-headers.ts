/** Rate limit as an answer reports it. Service text, section 8, which names no units. */
export interface RateHints {
  readonly limit: number | undefined
  readonly remaining: number | undefined
  /** Milliseconds until the window ends, or until the service accepts the next request. */
  readonly resetMs: number | undefined
  /** Milliseconds from `Retry-After`, or otherwise the same as `resetMs`. */
  readonly retryAfterMs: number | undefined
}

/** Allowance for a time in whole seconds, which may have been rounded down. */
const ROUNDING_MS = 1_000

/**
 * Reads the rate headers in any unit: numbers above 10^12 are milliseconds since 1970, above 10^9 seconds since 1970, others seconds
 * from now; any other value is an HTTP date.
 *
 * @param now local time. The answer's `Date` is preferred, since both times are then by the same clock
 * @param maxWaitMs a longer wait is taken as the sign of a wrong clock
 */
export function readRateHeaders(headers: Headers, now: number, maxWaitMs: number): RateHints {
  const date = Date.parse(headers.get('date') ?? '')
  const clocks = Number.isNaN(date) ? [now] : [date, now]
  const toMs = (name: string) => msUntil(headers.get(name), clocks, maxWaitMs)
  const resetMs = toMs('x-ratelimit-reset')
  return {
    limit: toCount(headers.get('x-ratelimit-limit')),
    remaining: toCount(headers.get('x-ratelimit-remaining')),
    resetMs,
    retryAfterMs: toMs('retry-after') ?? resetMs,
  }
}

function toCount(text: string | null): number | undefined {
  return /^\d{1,15}$/.test(text ?? '') ? Number(text) : undefined
}

function msUntil(text: string | null, clocks: readonly number[], maxWaitMs: number): number | undefined {
  if (text === null || text === '') return undefined
  const number = Number(text)
  if (Number.isNaN(number)) {
    const date = Date.parse(text)
    return Number.isNaN(date) ? undefined : sinceClock(date, clocks, maxWaitMs, ROUNDING_MS)
  }
  if (!(number >= 0 && number < 1e15)) return undefined
  if (number > 1e12) return sinceClock(number, clocks, maxWaitMs, 0)
  if (number > 1e9) return sinceClock(number * 1_000, clocks, maxWaitMs, ROUNDING_MS)
  return number === 0 ? 0 : number * 1_000 + ROUNDING_MS
}

/** Returns the time until `time` by the first clock for which it is plausible. A time that is past by all clocks means now. */
function sinceClock(time: number, clocks: readonly number[], maxWaitMs: number, rounding: number): number {
  const waits = clocks.map((clock) => time + rounding - clock)
  return waits.find((wait) => wait > 0 && wait <= maxWaitMs) ?? Math.max(0, ...waits)
}
