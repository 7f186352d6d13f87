import { styleText } from 'node:util'
import { ATTEMPT_DELAYS_MS, MAX_ATTEMPTS } from '../../protocol/schedule.ts'
import { readCode } from '../../wire/code-word.ts'
import { toPrintable } from './print-table.ts'
import { showTime } from './show-time.ts'

/** Request with its result, as all commands show it. */
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
  /** Further notes: the answer's code word, the next attempt. */
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

/** Fields of an emulator's delivery to show after an attempt. Times are in milliseconds since 1970. */
export interface ShownDelivery {
  readonly id: string
  readonly eventId: string
  readonly eventType: string
  readonly status: string
  readonly nextAttemptAt: number | undefined
}

/** Fields of an attempt to show. */
export interface ShownAttempt {
  readonly number: number
  readonly at: number
  readonly durationMs: number
  readonly status?: number | undefined
  readonly failure?: string | undefined
  readonly responseBody: string
}

/** A delivery as it stood after the attempt of that index. */
export function standAfter(delivery: ShownDelivery, attempts: readonly ShownAttempt[], index: number): ShownDelivery {
  const next = attempts[index + 1]
  return next === undefined ? delivery : { ...delivery, status: 'pending', nextAttemptAt: next.at }
}

/** One line about an attempt. */
export function toLine(delivery: ShownDelivery, attempt: ShownAttempt, scale: number): AttemptLine {
  const { number, at, durationMs, failure } = attempt
  const notes = [readCode(attempt.responseBody), failure !== undefined && showNext(delivery, attempt, scale)]
  return {
    at,
    type: delivery.eventType,
    eventId: delivery.eventId,
    step: number > MAX_ATTEMPTS ? 'retry' : `${number}/${MAX_ATTEMPTS}`,
    result: toResult(attempt),
    isAcknowledged: failure === undefined,
    durationMs,
    note: notes.filter(Boolean).join(', '),
  }
}

/** Makes the JSON record of an attempt, for programs. */
export function toRecord(delivery: ShownDelivery, attempt: ShownAttempt): object {
  return {
    type: 'attempt',
    at: new Date(attempt.at).toISOString(),
    deliveryId: delivery.id,
    eventId: delivery.eventId,
    eventType: delivery.eventType,
    number: attempt.number,
    of: MAX_ATTEMPTS,
    isAcknowledged: attempt.failure === undefined,
    status: attempt.status ?? null,
    error: attempt.failure === undefined || attempt.failure === 'status' ? null : attempt.failure,
    code: readCode(attempt.responseBody),
    durationMs: Math.round(attempt.durationMs * 10) / 10,
    delivery: delivery.status,
    nextAttemptAt: delivery.nextAttemptAt === undefined ? null : new Date(delivery.nextAttemptAt).toISOString(),
  }
}

/** The status, or a word for why there is none. */
export function toResult({ status, failure }: Pick<ShownAttempt, 'status' | 'failure'>): string {
  return status === undefined ? (failure ?? '') : String(status)
}

function showNext({ status, nextAttemptAt }: ShownDelivery, attempt: ShownAttempt, scale: number): string {
  if (status === 'failed') return 'failed, no attempt is left'
  if (nextAttemptAt === undefined) return ''
  const delay = ATTEMPT_DELAYS_MS[attempt.number]
  const ms = nextAttemptAt - attempt.at - attempt.durationMs
  return `next in ${showTime(ms)}${scale === 1 || delay === undefined ? '' : ` (${showTime(delay)} at x${scale})`}`
}
