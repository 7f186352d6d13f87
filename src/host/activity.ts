import { type Clock, LONGEST_TIMER_MS } from './clock.ts'

/** The time that a host has to write an answer, if its adapter cannot tell when it has. */
const UNSEEN_ANSWER_MS = 50

/** Counts what `close` waits for: requests without an answer, running events, calls of the store that nobody else waits for. */
export class Activity {
  #count = 0
  #hasUnseen = false
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
    this.#hasUnseen = true
    end()
  }

  /** Waits until all has ended and every answer is written, `timeoutMs` at most. */
  async drain(clock: Clock, timeoutMs: number): Promise<void> {
    if (this.#count > 0)
      await new Promise<void>((resolve) => {
        const timer = clock.setTimeout(resolve, Math.min(timeoutMs, LONGEST_TIMER_MS))
        this.#onIdle.push(() => {
          clock.clearTimeout(timer)
          resolve()
        })
      })
    // What the host still has to do takes real time, whatever the clock of the receiver says.
    if (this.#hasUnseen) await new Promise((resolve) => setTimeout(resolve, UNSEEN_ANSWER_MS))
  }
}
