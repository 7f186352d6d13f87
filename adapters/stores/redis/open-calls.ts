/** Time is told in ticks: a look at the clock for each call would cost as much as the rest of it. */
const TICK_MS = 250
const SILENT_AFTER = 12
/** While claims are refused, one is let through this often to find out. */
const TRY_EVERY = 4
/** Some calls of clients that are wrapped never end. */
const FORGOTTEN_AFTER = 240
const IDLE_AFTER = 4
/** A client keeps some 4 KB for each. */
const MOST_OPEN = 10_000

/**
 * The calls that have no answer yet. Clients queue what they cannot send, without an end, and would send it all once the server is
 * back, though nobody waits for it any more: claims are refused while nothing is answered.
 *
 * Ticks pass only while the event loop turns, so that a process that stood still does not take its server for silent.
 */
export class OpenCalls {
  /** How many calls the server has answered. */
  answers = 0
  readonly #onSilence: () => void
  /** How many calls of each tick are open. */
  readonly #open = new Map<number, number>()
  #size = 0
  #tick = 0
  /** When the first call after the last answer was made. */
  #silentSince: number | undefined
  #triedAt = -TRY_EVERY
  #idleTicks = 0
  #timer: NodeJS.Timeout | undefined

  /** @param onSilence called again and again while a call has had no answer for 3 s */
  constructor(onSilence: () => void) {
    this.#onSilence = onSilence
  }

  /** Returns what stands for the call. */
  open(): number {
    this.#size++
    this.#open.set(this.#tick, (this.#open.get(this.#tick) ?? 0) + 1)
    this.#silentSince ??= this.#tick
    this.#timer ??= setTimeout(() => this.#onTick(), TICK_MS).unref()
    return this.#tick
  }

  /** Returns why a claim is refused, if it is. */
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

  /** An error of the server is an answer as well. */
  onAnswer(call: number): void {
    this.#close(call)
    this.#silentSince = undefined
    this.answers++
  }

  /** The client gave a call up. */
  onGivenUp(call: number): void {
    this.#close(call)
  }

  /** Their connection is not in use any more. */
  forget(): void {
    this.#open.clear()
    this.#size = 0
    this.#silentSince = undefined
    this.#tick++ // calls that are made now are none of those
  }

  #close(call: number): void {
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
    // Clients that give calls up by themselves leave none open. What they gave up long ago says nothing of today.
    if (this.#idleTicks >= IDLE_AFTER) this.#silentSince = undefined
    else this.#timer = setTimeout(() => this.#onTick(), TICK_MS).unref()
  }
}
