import { styleText } from 'node:util'
import { toPrintable } from './printable.ts'

/** One request and what came of it, as all commands show it. */
export interface AttemptLine {
  /** When it began, in milliseconds since 1970. */
  readonly at: number
  readonly type: string
  readonly eventId: string
  /** Which one it is: `2/5`, or `copy 2`. */
  readonly step: string
  /** The status, or why there is none. */
  readonly result: string
  readonly isAcknowledged: boolean
  readonly durationMs: number
  /** What else there is to say: the answer's code word, the next attempt. */
  readonly note: string
}

/** One line for people, in columns; without its end. */
export function formatAttempt(line: AttemptLine, isColoured: boolean): string {
  const { at, type, eventId, step, result, isAcknowledged, durationMs, note } = line
  const word = toPrintable(result).padEnd(7)
  const columns = [
    new Date(at).toTimeString().slice(0, 8),
    toPrintable(type).padEnd(26),
    toPrintable(eventId).padEnd(28),
    step.padEnd(6),
    isColoured ? styleText(isAcknowledged ? 'green' : 'red', word) : word,
    `${Math.round(durationMs)} ms`.padStart(8),
    note,
  ]
  return columns.join('  ').trimEnd()
}
