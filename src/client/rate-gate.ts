import type { Clock } from '../host/clock.ts'
import type { RateHints } from './rate-headers.ts'
import { sleep } from './sleep.ts'

/** Wait of the client, for progress displays. */
export interface Wait {
  readonly ms: number
  /** `rate_limit`: after a 429, or because the service's headers require it. `back_off`: after any other failure. */
  readonly reason: 'rate_limit' | 'back_off'
}

/** Windows that end within this time of each other are the same window. */
const SAME_WINDOW_MS = 1_500

/** Holds requests back while the service's headers say that none are left, so that the service refuses none. */
export class RateGate {
  readonly #clock: Clock
  readonly #maxWaitMs: number
  readonly #onWait: (wait: Wait) => void
  /** Number of requests left before `#resetAt`; undefined if unknown. */
  #left: number | undefined
  #limit: number | undefined
  /** End of the window, by the monotonic clock: the wall clock may jump. */
  #resetAt = 0
  /** Number of the last request that passed the gate. */
  #last = 0
  /** Number of the last request before the current window. */
  #lastBefore = 0

  constructor(clock: Clock, maxWaitMs: number, onWait: (wait: Wait) => void) {
    this.#clock = clock
    this.#maxWaitMs = maxWaitMs
    this.#onWait = onWait
  }

  /** Waits until a request may be sent. Returns the number of the request, for `learn`. */
  async enter(signal: AbortSignal): Promise<number> {
    while (!this.#mayGo()) {
      const ms = Math.max(1, this.#resetAt - this.#clock.monotonic())
      this.#onWait({ ms, reason: 'rate_limit' })
      await sleep(this.#clock, ms, signal)
    }
    if (this.#left !== undefined) this.#left--
    this.#last++
    return this.#last
  }

  /** Updates the limit from the answer to a request. */
  learn(number: number, hints: RateHints, status: number): void {
    const remaining = status === 429 ? 0 : hints.remaining
    const resetMs = status === 429 ? hints.retryAfterMs : hints.resetMs
    // A late answer describes a window that has ended.
    if (remaining === undefined || resetMs === undefined || number <= this.#lastBefore) return
    const now = this.#clock.monotonic()
    const resetAt = now + Math.min(resetMs, this.#maxWaitMs)
    // The service had not yet counted the requests that were sent later.
    const left = remaining - (this.#last - number)
    const isSameWindow = this.#left !== undefined && now < this.#resetAt && resetAt < this.#resetAt + SAME_WINDOW_MS
    this.#left = isSameWindow ? Math.min(this.#left ?? left, left) : left
    this.#resetAt = isSameWindow ? Math.max(this.#resetAt, resetAt) : resetAt
    this.#limit = hints.limit
  }

  #mayGo(): boolean {
    if (this.#left === undefined || this.#left > 0) return true
    if (this.#clock.monotonic() < this.#resetAt) return false
    this.#lastBefore = this.#last
    this.#left = this.#limit
    return true
  }
}
