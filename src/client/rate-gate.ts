import { sleep } from '../host/clock.ts'
import type { Settings } from './settings.ts'

/** Windows that end within this time of each other are the same window. */
const SAME_WINDOW_MS = 1_500

export type RateGate = ReturnType<typeof createRateGate>

/** Creates a gate that holds requests back while the service's headers say that none are left, so that the service refuses none. */
export function createRateGate({ clock, maxWaitMs, onWait }: Pick<Settings, 'clock' | 'maxWaitMs' | 'onWait'>) {
  /** Number of requests left before `resetAt`; undefined if unknown. */
  let left: number | undefined
  let limit: number | undefined
  /** End of the window, by the monotonic clock: the wall clock may jump. */
  let resetAt = 0
  let last = 0
  /** Number of the last request before the current window. */
  let lastBefore = 0
  const mayGo = () => {
    if (left === undefined || left > 0) return true
    if (clock.monotonic() < resetAt) return false
    lastBefore = last
    left = limit
    return true
  }
  return {
    /** Waits until a request may be sent. Returns the number of the request, for `learn`. */
    async enter(signal: AbortSignal): Promise<number> {
      while (!mayGo()) {
        const ms = Math.max(1, resetAt - clock.monotonic())
        onWait({ ms, reason: 'rate_limit' })
        await sleep(clock, ms, signal)
      }
      if (left !== undefined) left--
      return ++last
    },

    learn(number: number, hints: RateHints, status: number): void {
      const remaining = status === 429 ? 0 : hints.remaining
      const resetMs = status === 429 ? hints.retryAfterMs : hints.resetMs
      // A late answer describes a window that has ended.
      if (remaining === undefined || resetMs === undefined || number <= lastBefore) return
      const now = clock.monotonic()
      const endsAt = now + Math.min(resetMs, maxWaitMs)
      // The service had not yet counted the requests that were sent later.
      const known = remaining - (last - number)
      const isSameWindow = left !== undefined && now < resetAt && endsAt < resetAt + SAME_WINDOW_MS
      left = isSameWindow ? Math.min(left ?? known, known) : known
      resetAt = isSameWindow ? Math.max(resetAt, endsAt) : endsAt
      limit = hints.limit
    },
  }
}

/** Rate limit as an answer reports it. Service text, section 8, which names no units. */
export interface RateHints {
  readonly limit: number | undefined
  readonly remaining: number | undefined
  /** Milliseconds until the window ends, or until the service accepts the next request. */
  readonly resetMs: number | undefined
  /** Milliseconds from `Retry-After`, or otherwise, for a 429 only, `resetMs`: every answer says when the window ends. */
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
export function readRateHeaders(
  { headers, status }: Pick<Response, 'headers' | 'status'>,
  now: number,
  maxWaitMs: number,
): RateHints {
  const date = Date.parse(headers.get('date') ?? '')
  const clocks = Number.isNaN(date) ? [now] : [date, now]
  const toMs = (name: string) => msUntil(headers.get(name), clocks, maxWaitMs)
  const resetMs = toMs('x-ratelimit-reset')
  return {
    limit: toCount(headers.get('x-ratelimit-limit')),
    remaining: toCount(headers.get('x-ratelimit-remaining')),
    resetMs,
    retryAfterMs: toMs('retry-after') ?? (status === 429 ? resetMs : undefined),
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
