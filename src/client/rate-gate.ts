import type { Clock } from '../host/clock.ts'
import type { RateHints } from './rate-headers.ts'
import { sleep } from './sleep.ts'

/** A wait of the client, for progress displays. */
export interface Wait {
  readonly ms: number
  /** `rate_limit`: after a 429, or since the service's headers say so. `back_off`: after any other failure. */
  readonly reason: 'rate_limit' | 'back_off'
}

/** Two answers whose windows end this close together are of one window. */
const SAME_WINDOW_MS = 1_500

/** Holds requests back while the service's own headers say that there are none left, so that none is refused. */
export class RateGate {
  readonly #clock: Clock
  readonly #maxWaitMs: number
  readonly #onWait: (wait: Wait) => void
  /** How many more may go before `#resetAt`; undefined while nothing is known. */
  #left: number | undefined
  #limit: number | undefined
  /** By the monotonic clock: the wall clock may jump. */
  #resetAt = 0
  /** Number of the last request that came through. */
  #last = 0
  /** Number of the last request before the window that we take to be open. */
  #lastBefore = 0

  constructor(clock: Clock, maxWaitMs: number, onWait: (wait: Wait) => void) {
    this.#clock = clock
    this.#maxWaitMs = maxWaitMs
    this.#onWait = onWait
  }

  /** Waits for its turn. Gives the request's number, to `learn` by. */
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

  /** Takes in what the answer to a request says. */
  learn(number: number, hints: RateHints, status: number): void {
    const remaining = status === 429 ? 0 : hints.remaining
    const resetMs = status === 429 ? hints.retryAfterMs : hints.resetMs
    // An answer that was late speaks of a window that is over.
    if (remaining === undefined || resetMs === undefined || number <= this.#lastBefore) return
    const now = this.#clock.monotonic()
    const resetAt = now + Math.min(resetMs, this.#maxWaitMs)
    // The service had not counted what was sent after it.
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
