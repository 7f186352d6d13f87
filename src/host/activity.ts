import { type Clock, LONGEST_TIMER_MS } from './clock.ts'
import { waitFor } from './wait-for.ts'

/** The time that a host and its middleware have to write an answer, if its adapter cannot tell when they have. */
const UNSEEN_ANSWER_MS = 1_000

/** Counts what `close` waits for: requests without an answer, running events, calls of the store that nobody else waits for. */
export class Activity {
  #count = 0
  /** When the last answer was returned that its host writes unseen. */
  #unseenAt = Number.NEGATIVE_INFINITY
  #onIdle: (() => void)[] = []

  begin(): void {
    this.#count++
  }

  end(): void {
    if (--this.#count > 0) return
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  /** Begins a request, and returns what ends it, however often a host calls that. */
  beginOnce(): () => void {
    this.begin()
    let isOver = false
    return () => {
      if (!isOver) this.end()
      isOver = true
    }
  }

  /** Ends a request whose answer the host writes unseen. */
  endUnseen(end: () => void): void {
    this.#unseenAt = performance.now()
    end()
  }

  /** Waits until all has ended and every answer is written, `timeoutMs` at most. */
  async drain(clock: Clock, timeoutMs: number): Promise<void> {
    if (this.#count > 0) {
      const idle = new Promise<void>((resolve) => this.#onIdle.push(resolve))
      await waitFor(clock, idle, Math.min(timeoutMs, LONGEST_TIMER_MS), ignore, ignore)
    }
    // What the host still has to do takes real time, whatever the clock of the receiver says.
    const leftMs = Math.min(this.#unseenAt + UNSEEN_ANSWER_MS - performance.now(), timeoutMs)
    if (leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs))
  }
}

const ignore = () => {}
