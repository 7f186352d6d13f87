/** A call that takes longer without an answer is lost: receivers wait no longer either. */
const SILENCE_MS = 3_000
const LOOK_EVERY_MS = 250
/** While claims are refused, one is let through this often to find out. */
const TRY_EVERY_MS = 1_000
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
  readonly #calls = new Set<OpenCall>()
  readonly #onSilence: () => void
  #answeredAt = 0
  #triedAt = 0
  #isLooking = false

  /** @param onSilence called again and again while a call has had no answer for 3 s */
  constructor(onSilence: () => void) {
    this.#onSilence = onSilence
  }

  open(): OpenCall {
    const call = { madeAt: performance.now() }
    this.#calls.add(call)
    this.#look()
    return call
  }

  /** Returns why a claim is refused, if it is. */
  refuse(): Error | undefined {
    const oldest = this.#oldest()
    if (oldest === undefined) return undefined
    const now = performance.now()
    const isSilent = now - oldest.madeAt > SILENCE_MS && oldest.madeAt > this.#answeredAt
    if (!isSilent && this.#calls.size < MOST_OPEN) return undefined
    if (now - this.#triedAt >= TRY_EVERY_MS) {
      this.#triedAt = now
      return undefined
    }
    const seconds = Math.round((now - oldest.madeAt) / 1_000)
    return new Error(`Redis has not answered for ${seconds} s. ${this.#calls.size} calls are open.`)
  }

  /** An error of the server is an answer as well. */
  onAnswer(call: OpenCall): void {
    this.#calls.delete(call)
    this.#answeredAt = performance.now()
  }

  /** The client gave a call up. */
  onGivenUp(call: OpenCall): void {
    this.#calls.delete(call)
  }

  #oldest(): OpenCall | undefined {
    return this.#calls.values().next().value
  }

  /** Looks now and then: a timer for each call would cost more than the rest of it. Keeps no process alive. */
  #look(): void {
    if (this.#isLooking) return
    this.#isLooking = true
    setTimeout(() => {
      this.#isLooking = false
      const oldest = this.#oldest()
      if (oldest === undefined) return
      if (performance.now() - oldest.madeAt >= SILENCE_MS) this.#onSilence()
      this.#look()
    }, LOOK_EVERY_MS).unref()
  }
}
