/** How long calls may wait without any answer before further ones are refused. */
const SILENCE_MS = 3_000
/** How often one call is let through all the same, to find out. */
const TRY_EVERY_MS = 1_000

/**
 * Keeps claims from piling up in the client while its server is away: clients queue what they cannot send, without an end, and would
 * send it all once the server is back, though nobody waits for it any more.
 */
export class Backlog {
  #waiting = 0
  /** When the first call after the last answer was made. */
  #silentSince: number | undefined
  #triedAt = 0
  readonly #onSilence: () => void

  constructor(onSilence: () => void) {
    this.#onSilence = onSilence
  }

  /** @throws Error where the server has been silent for long */
  onCall(): void {
    if (this.#waiting++ === 0) this.#silentSince = undefined
    this.#silentSince ??= performance.now()
    if (this.#waiting > 1) this.#mustAnswer(this.#silentSince)
  }

  onAnswer(): void {
    this.#waiting--
    this.#silentSince = undefined
  }

  #mustAnswer(since: number): void {
    const now = performance.now()
    if (now - since <= SILENCE_MS) return
    this.#onSilence()
    if (now - this.#triedAt >= TRY_EVERY_MS) {
      this.#triedAt = now
      return
    }
    this.#waiting--
    throw new Error(`Redis has not answered for ${Math.round((now - since) / 1_000)} s.`)
  }
}
