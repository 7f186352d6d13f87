/** How long the oldest call may have gone without an answer before further ones are refused. */
const SILENCE_MS = 3_000
/** How often one call is let through all the same, to find out. */
const TRY_EVERY_MS = 1_000

/**
 * Keeps claims from piling up in the client while its server is away: clients queue what they cannot send, without an end, and would
 * send it all once the server is back, though nobody waits for it any more.
 */
export class Backlog {
  /** When each call that has no answer yet was made, oldest first. */
  readonly #waiting = new Set<{ readonly since: number }>()
  #triedAt = 0

  async run<T>(call: () => Promise<T>): Promise<T> {
    const now = performance.now()
    const [oldest] = this.#waiting
    if (oldest !== undefined && now - oldest.since > SILENCE_MS) {
      if (now - this.#triedAt < TRY_EVERY_MS)
        throw new Error(`Redis has not answered for ${Math.round((now - oldest.since) / 1_000)} s.`)
      this.#triedAt = now
    }
    const waiting = { since: now }
    this.#waiting.add(waiting)
    try {
      return await call()
    } finally {
      this.#waiting.delete(waiting)
    }
  }
}
