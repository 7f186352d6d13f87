import { type Logger, systemClock, whole } from '../../src/engine.ts'

export const DAY_MS = 86_400_000
/** The time between two searches for expired dead letters, in milliseconds. */
export const SWEEP_MS = 60_000

/** The kind of the option `deadLetterMs` of an inbox, and its default. */
export const DEAD_LETTER = whole(DAY_MS, 3_650 * DAY_MS, 'milliseconds')
export const DEFAULT_DEAD_LETTER_MS = 30 * DAY_MS

export function warnOfDropped(logger: Logger | undefined, inbox: string, dropped: number, deadLetterMs: number): void {
  logger?.warn({ dropped }, `${inbox} dropped dead letters older than ${deadLetterMs / DAY_MS} days.`)
}

/**
 * Returns a function that deletes expired dead letters, in batches until none is left, and then does nothing for a minute.
 *
 * @param drop deletes a batch and resolves with its size
 */
export function makeSweeper<Given extends readonly unknown[]>(
  drop: (...given: Given) => Promise<number>,
  onDropped: (dropped: number) => void,
): (...given: Given) => Promise<void> {
  let sweptAt = Number.NEGATIVE_INFINITY
  return async (...given) => {
    if (systemClock.monotonic() - sweptAt < SWEEP_MS) return
    const dropped = await drop(...given)
    if (dropped === 0) sweptAt = systemClock.monotonic()
    else onDropped(dropped)
  }
}
