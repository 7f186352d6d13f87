/** The time that everything here goes by, so that tests can move it: no global fake timers are needed. */
export interface Clock {
  /** Wall time in milliseconds since 1970. */
  now(): number
  /** Milliseconds that never go back, from any origin. */
  monotonic(): number
  /** Calls back once after at least `ms` milliseconds. Returns a value for `clearTimeout`. */
  setTimeout(callback: () => void, ms: number): unknown
  clearTimeout(timer: unknown): void
}

/** The longest time that hosts take for a timer, in milliseconds. What is set for longer goes off immediately. */
export const LONGEST_TIMER_MS = 2_147_483_647

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  // Not process.hrtime, which workerd lacks.
  monotonic: () => performance.now(),
  setTimeout: (callback, ms) => setTimeout(callback, ms),
  // What comes in is what setTimeout gave; hosts differ in its type.
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
}

/** Calls back once `at` has come on the monotonic clock. Returns a value for `clearTimeout`. */
export function setTimeoutAt(clock: Clock, at: number, callback: () => void): unknown {
  return clock.setTimeout(callback, Math.max(at - clock.monotonic(), 0))
}

/** Waits on a clock. */
export function sleep(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimeout(resolve, ms)
  })
}
