import type { Taken, TakeRequest } from './inbox-table.ts'

/** The longest time for which a suspect runs alone, in milliseconds. */
const LONGEST_ALONE_MS = 10_000
/** The first time for which a busy worker takes nothing so that a suspect can run; twice as long after each time in vain. */
const FIRST_PATIENCE_MS = 1_000

export type Solitude = ReturnType<typeof createSolitude>

/**
 * Decides when a worker runs a suspect, and when it takes other items. A worker takes other items for as long as it took none for a
 * suspect, so that suspects have at most half of its time, and waits longer for each that could not begin.
 *
 * @param now in milliseconds, from any origin
 * @param renewMs the interval of the worker's renewals, its signs of life
 */
export function createSolitude(now: () => number, renewMs: number) {
  /** When the worker stopped taking other items, and until when a suspect is to run alone. */
  let stopped: { readonly at: number; readonly aloneUntil?: number } | undefined
  let othersUntil = Number.NEGATIVE_INFINITY
  let patienceMs = FIRST_PATIENCE_MS
  /** Lets the worker take other items, for as long as it took none. */
  const end = () => {
    if (stopped === undefined) return
    othersUntil = now() + (now() - stopped.at)
    stopped = undefined
  }
  return {
    /** Returns how long the running suspect has to be alone, in milliseconds; 0 if others may join it. */
    leftMs: () => Math.max((stopped?.aloneUntil ?? 0) - now(), 0),

    /** Returns what to ask the engine for. */
    wish(isIdle: boolean): TakeRequest['suspects'] {
      if (stopped?.aloneUntil !== undefined) return 'join'
      if (isIdle) patienceMs = FIRST_PATIENCE_MS
      else if (stopped !== undefined && now() - stopped.at >= patienceMs) {
        patienceMs *= 2
        end()
      }
      if (now() < othersUntil) return 'leave'
      return isIdle ? 'take' : 'await'
    },

    onTaken({ items, ranMs, isAwaited }: Taken, isIdle: boolean): void {
      const at = stopped?.at ?? now()
      // It may have run on until just before the next renewal.
      if (ranMs !== undefined) stopped = { at, aloneUntil: now() + Math.min(ranMs + renewMs, LONGEST_ALONE_MS) }
      else if (isAwaited === true) stopped = { at }
      else end()
      // Nothing else is due: the next suspect need not wait.
      if (isIdle && items.length === 0) othersUntil = Number.NEGATIVE_INFINITY
    },

    /** Called when a suspect ends, which others may have joined. */
    onSuspectEnd(): void {
      if (stopped?.aloneUntil !== undefined) end()
    },
  }
}
