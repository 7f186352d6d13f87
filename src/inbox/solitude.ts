import type { Taken, TakeRequest } from './inbox-table.ts'

/** The longest time for which a suspect runs alone, in milliseconds. */
const LONGEST_ALONE_MS = 10_000
/** The first time for which a busy worker takes nothing so that a suspect can run; twice as long after each time in vain. */
const FIRST_PATIENCE_MS = 1_000

/**
 * Decides when a worker runs a suspect, and when it takes other items. A worker takes other items for as long as it took none for a
 * suspect, so that suspects have at most half of its time, and waits longer for each that could not begin.
 */
export class Solitude {
  readonly #now: () => number
  readonly #renewMs: number
  /** When the worker stopped taking other items, and until when a suspect is to run alone. */
  #stopped: { readonly at: number; readonly aloneUntil?: number } | undefined
  #othersUntil = Number.NEGATIVE_INFINITY
  #patienceMs = FIRST_PATIENCE_MS

  /**
   * @param now in milliseconds, from any origin
   * @param renewMs the interval of the worker's renewals, its signs of life
   */
  constructor(now: () => number, renewMs: number) {
    this.#now = now
    this.#renewMs = renewMs
  }

  /** Returns how long the running suspect has to be alone, in milliseconds; 0 if others may join it. */
  get leftMs(): number {
    return Math.max((this.#stopped?.aloneUntil ?? 0) - this.#now(), 0)
  }

  /** Returns what to ask the engine for. */
  wish(isIdle: boolean): TakeRequest['suspects'] {
    if (this.#stopped?.aloneUntil !== undefined) return 'join'
    if (isIdle) this.#patienceMs = FIRST_PATIENCE_MS
    else if (this.#stopped !== undefined && this.#now() - this.#stopped.at >= this.#patienceMs) {
      this.#patienceMs *= 2
      this.#end()
    }
    if (this.#now() < this.#othersUntil) return 'leave'
    return isIdle ? 'take' : 'await'
  }

  onTaken({ items, ranMs, isAwaited }: Taken, isIdle: boolean): void {
    const now = this.#now()
    const at = this.#stopped?.at ?? now
    // It may have run on until just before the next renewal.
    if (ranMs !== undefined) this.#stopped = { at, aloneUntil: now + Math.min(ranMs + this.#renewMs, LONGEST_ALONE_MS) }
    else if (isAwaited === true) this.#stopped = { at }
    else this.#end()
    // Nothing else is due: the next suspect need not wait.
    if (isIdle && items.length === 0) this.#othersUntil = Number.NEGATIVE_INFINITY
  }

  /** Called when a suspect ends, which others may have joined. */
  onSuspectEnd(): void {
    if (this.#stopped?.aloneUntil !== undefined) this.#end()
  }

  /** Lets the worker take other items, for as long as it took none. */
  #end(): void {
    if (this.#stopped === undefined) return
    this.#othersUntil = this.#now() + (this.#now() - this.#stopped.at)
    this.#stopped = undefined
  }
}
