/** A call that takes longer without an answer is lost: receivers wait no longer either. */
const SILENCE_MS = 3_000
const LOOK_EVERY_MS = 250
/** While claims are refused, one is let through this often to find out. */
const TRY_EVERY_MS = 1_000
/** Some calls of clients that are wrapped never end. */
const FORGOTTEN_AFTER_MS = 60_000
/** A client keeps some 4 KB for each. */
const MOST_OPEN = 10_000

export interface OpenCall {
  readonly madeAt: number
}

/**
 * The calls that have no answer yet. Clients queue what they cannot send, without an end, and would send it all once the server is
 * back, though nobody waits for it any more: claims are refused while nothing is answered.
 */
export class OpenCalls {
  /** When the server last answered. */
  answeredAt = 0
  readonly #calls = new Set<OpenCall>()
  readonly #onSilence: () => void
  /** When the first call after the last answer was made. */
  #silentSince: number | undefined
  #calledAt = 0
  #triedAt = 0
  #isLooking = false

  /** @param onSilence called again and again while a call has had no answer for 3 s */
  constructor(onSilence: () => void) {
    this.#onSilence = onSilence
  }

  open(): OpenCall {
    const madeAt = performance.now()
    // Clients that give calls up by themselves leave none open. What they gave up long ago says nothing of today.
    if (this.#calls.size === 0 && madeAt - this.#calledAt > TRY_EVERY_MS) this.#silentSince = undefined
    this.#silentSince ??= madeAt
    this.#calledAt = madeAt
    const call = { madeAt }
    this.#calls.add(call)
    this.#look()
    return call
  }

  /** Returns why a claim is refused, if it is. */
  refuse(): Error | undefined {
    const now = performance.now()
    const silentMs = now - (this.#silentSince ?? now)
    const isSilent = silentMs > SILENCE_MS && (this.#calls.size > 0 || now - this.#calledAt <= TRY_EVERY_MS)
    if (!isSilent && this.#calls.size < MOST_OPEN) return undefined
    if (now - this.#triedAt >= TRY_EVERY_MS) {
      this.#triedAt = now
      return undefined
    }
    return isSilent
      ? new Error(`Redis has not answered for ${Math.round(silentMs / 1_000)} s.`)
      : new Error(`Redis has not answered ${this.#calls.size} calls.`)
  }

  /** An error of the server is an answer as well. */
  onAnswer(call: OpenCall): void {
    this.#calls.delete(call)
    this.#silentSince = undefined
    this.answeredAt = performance.now()
  }

  /** The client gave a call up. */
  onGivenUp(call: OpenCall): void {
    this.#calls.delete(call)
  }

  /** Looks now and then: a timer for each call would cost more than the rest of it. Keeps no process alive. */
  #look(): void {
    if (this.#isLooking) return
    this.#isLooking = true
    setTimeout(() => {
      this.#isLooking = false
      const now = performance.now()
      for (const call of this.#calls) {
        if (now - call.madeAt < SILENCE_MS) break
        this.#onSilence()
        if (now - call.madeAt < FORGOTTEN_AFTER_MS) break
        this.#calls.delete(call)
      }
      if (this.#calls.size > 0) this.#look()
    }, LOOK_EVERY_MS).unref()
  }
}
