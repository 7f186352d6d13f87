import { sleep } from '../host/clock.ts'
import type { Settings } from './settings.ts'

/** Windows that end within this time of each other are the same window. */
const SAME_WINDOW_MS = 1_500

/** Holds requests back while the service's headers say that none are left, so that the service refuses none. */
export class RateGate {
  readonly #settings: Pick<Settings, 'clock' | 'maxWaitMs' | 'onWait'>
  /** Number of requests left before `#resetAt`; undefined if unknown. */
  #left: number | undefined
  #limit: number | undefined
  /** End of the window, by the monotonic clock: the wall clock may jump. */
  #resetAt = 0
  #last = 0
  /** Number of the last request before the current window. */
  #lastBefore = 0

  constructor(settings: Pick<Settings, 'clock' | 'maxWaitMs' | 'onWait'>) {
    this.#settings = settings
  }

  /** Waits until a request may be sent. Returns the number of the request, for `learn`. */
  async enter(signal: AbortSignal): Promise<number> {
    const { clock, onWait } = this.#settings
    while (!this.#mayGo()) {
      const ms = Math.max(1, this.#resetAt - clock.monotonic())
      onWait({ ms, reason: 'rate_limit' })
      await sleep(clock, ms, signal)
    }
    if (this.#left !== undefined) this.#left--
    this.#last++
    return this.#last
  }

  learn(number: number, hints: RateHints, status: number): void {
    const remaining = status === 429 ? 0 : hints.remaining
    const resetMs = status === 429 ? hints.retryAfterMs : hints.resetMs
    // A late answer describes a window that has ended.
    if (remaining === undefined || resetMs === undefined || number <= this.#lastBefore) return
    const now = this.#settings.clock.monotonic()
    const resetAt = now + Math.min(resetMs, this.#settings.maxWaitMs)
    // The service had not yet counted the requests that were sent later.
    const left = remaining - (this.#last - number)
    const isSameWindow = this.#left !== undefined && now < this.#resetAt && resetAt < this.#resetAt + SAME_WINDOW_MS
    this.#left = isSameWindow ? Math.min(this.#left ?? left, left) : left
    this.#resetAt = isSameWindow ? Math.max(this.#resetAt, resetAt) : resetAt
    this.#limit = hints.limit
  }

  #mayGo(): boolean {
    if (this.#left === undefined || this.#left > 0) return true
    if (this.#settings.clock.monotonic() < this.#resetAt) return false
    this.#lastBefore = this.#last
    this.#left = this.#limit
    return true
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
