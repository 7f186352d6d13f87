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

/** The host's own: fake timers of a test replace it. */
const hostSetTimeout = globalThis.setTimeout

/** True on Cloudflare Workers: there a timer dies with the request that started it. */
export const TIMERS_END_WITH_REQUEST =
  (globalThis as { navigator?: { userAgent?: unknown } }).navigator?.userAgent === 'Cloudflare-Workers' // not in Node 20

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

/** Lets the process end before a timer fires if the host can. */
export function unref(timer: unknown): void {
  if (isUnrefable(timer)) timer.unref()
}

/** Returns true if a timer that is being set is the host's own, and can stay while nothing waits for it without keeping the process alive. */
export function canIdle(clock: Clock, timer: unknown): timer is NodeJS.Timeout {
  return clock === systemClock && globalThis.setTimeout === hostSetTimeout && isUnrefable(timer)
}

function isUnrefable(timer: unknown): timer is NodeJS.Timeout {
  return typeof Object(timer).unref === 'function'
}

/** Waits on a clock. Rejects with the signal's reason if it aborts before. */
export async function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  let timer: unknown
  const isOver = new Promise<void>((resolve) => {
    timer = clock.setTimeout(resolve, ms)
  })
  await untilAborted(isOver, signal).finally(() => clock.clearTimeout(timer))
}

/** Stops waiting for work when the signal aborts. The work itself goes on. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}
