import type { Clock } from '../host/clock.ts'

/** Number of requests allowed in a time window. */
export interface RateLimit {
  readonly limit: number
  readonly windowMs: number
}

export interface RateStanding {
  readonly limit: number
  readonly remaining: number
  /** End of the window in milliseconds since 1970. */
  readonly resetAt: number
  readonly isExceeded: boolean
}

interface Window {
  count: number
  readonly resetAt: number
}

/** Counts requests in fixed windows, each of which begins with a caller's first request. */
export class RateLimiter {
  readonly #windows = new Map<string, Window>()
  readonly #clock: Pick<Clock, 'now'>
  readonly #rate: RateLimit

  constructor(clock: Pick<Clock, 'now'>, rate: RateLimit) {
    this.#clock = clock
    this.#rate = rate
  }

  take(caller: string): RateStanding {
    const now = this.#clock.now()
    let window = this.#windows.get(caller)
    if (window === undefined || window.resetAt <= now) {
      window = { count: 0, resetAt: now + this.#rate.windowMs }
      this.#windows.set(caller, window)
    }
    window.count++
    const { limit } = this.#rate
    const remaining = Math.max(0, limit - window.count)
    return { limit, remaining, resetAt: window.resetAt, isExceeded: window.count > limit }
  }

  clear(): void {
    this.#windows.clear()
  }
}
