import type { Clock } from '../host/clock.ts'

/** How many requests are taken in a window of time. */
export interface RateLimit {
  readonly limit: number
  readonly windowMs: number
}

/** Where a caller stands after a request. */
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

/** More callers than this at a time are only met in an attack; windows that have ended are then dropped. */
const SWEEP_ABOVE = 10_000

/** Counts requests in fixed windows, which begin with a caller's first request. */
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
      if (this.#windows.size > SWEEP_ABOVE) this.#sweep(now)
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

  #sweep(now: number): void {
    for (const [caller, { resetAt }] of this.#windows) if (resetAt <= now) this.#windows.delete(caller)
  }
}
