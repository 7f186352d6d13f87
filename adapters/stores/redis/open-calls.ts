/** Time is counted in ticks: reading the clock for each call would cost as much as the rest of it. */
const TICK_MS = 250
const SILENT_AFTER = 12
/** While claims are refused, one claim is let through each time after so many ticks, as a probe. */
const TRY_EVERY = 4
/** Some calls of wrapped clients never end. */
const FORGOTTEN_AFTER = 240
const IDLE_AFTER = 4
/** A client keeps some 4 KB for each open call. */
const MOST_OPEN = 10_000

/**
 * Counts the calls that have no answer yet. Clients queue without a limit what they cannot send, and would send it all once the server is
 * back, though no caller waits for it any more: claims are refused while nothing is answered.
 *
 * Ticks pass only while the event loop turns, so that a process that was suspended does not consider its server silent.
 */
export class OpenCalls {
  /** The number of calls that the server has answered. */
  answers = 0
  readonly #onSilence: () => void
  /** The number of open calls of each tick. */
  readonly #open = new Map<number, number>()
  #size = 0
  #tick = 0
  /** The tick of the first call after the last answer. */
  #silentSince: number | undefined
  #triedAt = -TRY_EVERY
  #idleTicks = 0
  #timer: NodeJS.Timeout | undefined

  /** @param onSilence called again and again while a call has had no answer for 3 s */
  constructor(onSilence: () => void) {
    this.#onSilence = onSilence
  }

  /** Returns a handle of the call. */
  open(): number {
    this.#size++
    this.#open.set(this.#tick, (this.#open.get(this.#tick) ?? 0) + 1)
    this.#silentSince ??= this.#tick
    this.#timer ??= setTimeout(() => this.#onTick(), TICK_MS).unref()
    return this.#tick
  }

  /** Returns the error for a claim, if claims are refused. */
  refuse(): Error | undefined {
    const silentFor = this.#tick - (this.#silentSince ?? this.#tick)
    if (silentFor < SILENT_AFTER && this.#size < MOST_OPEN) return undefined
    if (this.#tick - this.#triedAt >= TRY_EVERY) {
      this.#triedAt = this.#tick
      return undefined
    }
    return silentFor < SILENT_AFTER
      ? new Error(`Redis has not answered ${this.#size} calls.`)
      : new Error(`Redis has not answered for ${Math.round((silentFor * TICK_MS) / 1_000)} s.`)
  }

  /** Records an answer; an error of the server is one too. */
  onAnswer(call: number): void {
    this.onGivenUp(call)
    this.#silentSince = undefined
    this.answers++
  }

  /** Forgets all calls: their connection is not in use any more. */
  forget(): void {
    this.#open.clear()
    this.#size = 0
    this.#silentSince = undefined
    this.#tick++ // new calls do not belong to the forgotten ones
  }

  /** Records that the client gave up a call. */
  onGivenUp(call: number): void {
    const open = this.#open.get(call)
    if (open === undefined) return // it was forgotten
    this.#size--
    if (open === 1) this.#open.delete(call)
    else this.#open.set(call, open - 1)
  }

  #onTick(): void {
    this.#tick++
    this.#timer = undefined
    const [oldest] = this.#open
    if (oldest !== undefined) {
      const [madeAt, count] = oldest
      if (this.#tick - madeAt >= SILENT_AFTER) this.#onSilence()
      if (this.#tick - madeAt >= FORGOTTEN_AFTER) {
        this.#open.delete(madeAt)
        this.#size -= count
      }
    }
    this.#idleTicks = this.#size === 0 ? this.#idleTicks + 1 : 0
    // Clients that give up calls by themselves leave none open. Calls that they gave up long ago prove nothing about now.
    if (this.#idleTicks >= IDLE_AFTER) this.#silentSince = undefined
    else this.#timer = setTimeout(() => this.#onTick(), TICK_MS).unref()
  }
}
