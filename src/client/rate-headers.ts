/** What an answer says of the rate limit. Service text, section 8; units are not given there. */
export interface RateHints {
  readonly limit: number | undefined
  readonly remaining: number | undefined
  /** Milliseconds until the window ends, or until the service wants to be asked again. */
  readonly resetMs: number | undefined
  /** The same, from `Retry-After` if it is there. */
  readonly retryAfterMs: number | undefined
}

/** A time in whole seconds may have been rounded down. */
const ROUNDING_MS = 1_000

/**
 * Reads the rate headers, whatever their unit: numbers above 10^12 are milliseconds since 1970, above 10^9 seconds since 1970,
 * others seconds from now; anything else an HTTP date.
 *
 * @param now our own time. The answer's `Date` is preferred, since both times are then by one clock
 * @param maxWaitMs a wait that is longer than this counts as a clock that is wrong
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

/** By the first clock that makes sense of the time. One that has passed by all of them is now. */
function sinceClock(time: number, clocks: readonly number[], maxWaitMs: number, rounding: number): number {
  const waits = clocks.map((clock) => time + rounding - clock)
  return waits.find((wait) => wait > 0 && wait <= maxWaitMs) ?? Math.max(0, ...waits)
}
