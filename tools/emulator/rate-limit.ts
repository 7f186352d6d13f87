import type { Clock } from '../../src/host/clock.ts'

export interface RateLimit {
  readonly limit: number
  readonly windowMs: number
}

export interface RateStanding {
  readonly limit: number
  readonly remaining: number
  readonly resetAt: number
  readonly isExceeded: boolean
}

/** Counts requests in fixed windows, each of which begins with a caller's first request. */
export class RateLimiter {
  readonly #windows = new Map<string, { count: number; readonly resetAt: number }>()
  readonly #clock: Pick<Clock, 'now'>
  readonly #rate: RateLimit

  constructor(clock: Pick<Clock, 'now'>, rate: RateLimit) {
    this.#clock = clock
    this.#rate = rate
  }

  take(caller: string): RateStanding {
    const now = this.#clock.now()
    const { limit, windowMs } = this.#rate
    // All windows have the same length, so the oldest ends first.
    for (const [oldest, { resetAt }] of this.#windows) {
      if (resetAt > now) break
      this.#windows.delete(oldest)
    }
    const window = this.#windows.get(caller) ?? { count: 0, resetAt: now + windowMs }
    this.#windows.set(caller, window)
    window.count++
    const remaining = Math.max(0, limit - window.count)
    return { limit, remaining, resetAt: window.resetAt, isExceeded: window.count > limit }
  }

  clear(): void {
    this.#windows.clear()
  }
}
