import { LRUCache } from 'lru-cache'
import type { Clock } from '../host/clock.ts'

/** Number of requests that are taken in a window of time. */
export interface RateLimit {
  readonly limit: number
  readonly windowMs: number
}

/** Standing of a caller after a request. */
export interface RateStanding {
  readonly limit: number
  readonly remaining: number
  /** In milliseconds since 1970. */
  readonly resetAt: number
  readonly isExceeded: boolean
}

interface Window {
  count: number
  readonly resetAt: number
}

/** Only an attack has more callers at a time; those that have not come for the longest time are then forgotten. */
const MAX_CALLERS = 10_000

/** Counts requests in fixed windows, which begin with a caller's first request. */
export class RateLimiter {
  readonly #windows = new LRUCache<string, Window>({ max: MAX_CALLERS })
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
