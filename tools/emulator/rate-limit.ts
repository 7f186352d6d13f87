import type { Clock } from '../../src/host/clock.ts'

export interface RateLimit {
  readonly limit: number
  readonly windowMs: number
}

export type RateStanding = ReturnType<ReturnType<typeof createRateLimiter>['take']>

/** Counts requests in fixed windows, each of which begins with a caller's first request. */
export function createRateLimiter(clock: Pick<Clock, 'now'>, { limit, windowMs }: RateLimit) {
  const windows = new Map<string, { count: number; readonly resetAt: number }>()
  return {
    take(caller: string) {
      const now = clock.now()
      // All windows have the same length, so the oldest ends first.
      for (const [oldest, { resetAt }] of windows) {
        if (resetAt > now) break
        windows.delete(oldest)
      }
      const window = windows.get(caller) ?? { count: 0, resetAt: now + windowMs }
      windows.set(caller, window)
      window.count++
      const remaining = Math.max(0, limit - window.count)
      return { limit, remaining, resetAt: window.resetAt, isExceeded: window.count > limit }
    },
    clear: () => windows.clear(),
  }
}
