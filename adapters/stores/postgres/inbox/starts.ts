import { systemClock } from '../../../../src/engine.ts'

/** The share of the time that searches from the beginning may take. */
const FULL_SHARE = 0.02
/** Age of a start before it is used, in milliseconds: an item may be stored behind it for as long as its commit takes. */
const UNSEEN_FOR_MS = 1_000

/** Positions of ready and of delayed rows. */
type Positions = readonly [ready: number, due: number]

/**
 * Places from which searches begin. Rows that were taken still stand in the index while any transaction of the server is older, and a search passes all
 * of them. So it begins at the place of an earlier find. What stands before that, because its commit took long, is found by a search
 * from the beginning: at each search as long as these are cheap.
 */
export class Starts {
  #used: Positions = [0, 0]
  #latest: Positions = [0, 0]
  #turnedAt = Number.NEGATIVE_INFINITY
  #fullAt = Number.NEGATIVE_INFINITY

  /** Begins a search. `end` takes the first positions that it found, or the time if it found none. */
  begin(): { readonly from: Positions; end(first: Positions): void } {
    const begunAt = systemClock.monotonic()
    const isFull = begunAt >= this.#fullAt
    return {
      from: isFull ? [0, 0] : this.#used,
      end: (first) => {
        const now = systemClock.monotonic()
        if (isFull) this.#fullAt = now + (now - begunAt) / FULL_SHARE
        if (now - this.#turnedAt < UNSEEN_FOR_MS) return
        this.#turnedAt = now
        this.#used = this.#latest
        this.#latest = first
      },
    }
  }
}
