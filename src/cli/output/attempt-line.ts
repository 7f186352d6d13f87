import { styleText } from 'node:util'
import { ATTEMPT_DELAYS_MS, MAX_ATTEMPTS } from '../../protocol/schedule.ts'
import { readCode } from '../../wire/code-word.ts'
import { findHint } from '../../wire/find-hint.ts'
import { hasColour, type Io, writeJson } from '../io.ts'
import { toPrintable } from './print-table.ts'
import { showTime } from './show-time.ts'

/** Request with its result. */
export interface AttemptLine {
  /** When it began, in milliseconds since 1970. */
  readonly at: number
  readonly type: string
  readonly eventId: string
  /** Number of the request: `2/5`, or `copy 2`. */
  readonly step: string
  /** The status, or why there is none. */
  readonly result: string
  readonly isAcknowledged: boolean
  readonly durationMs: number
  /** Further notes: the answer's code word, the next attempt. */
  readonly note: string
}

/** Writes one line for people, in columns, without its line break. */
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

/** Returns a delivery as it stood after the attempt of that index. */
export function standAfter(delivery: ShownDelivery, attempts: readonly ShownAttempt[], index: number): ShownDelivery {
  const next = attempts[index + 1]
  return next === undefined ? delivery : { ...delivery, status: 'pending', nextAttemptAt: next.at }
}

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
function toResult({ status, failure }: Pick<ShownAttempt, 'status' | 'failure'>): string {
  return status === undefined ? (failure ?? '') : String(status)
}

function showNext({ status, nextAttemptAt }: ShownDelivery, attempt: ShownAttempt, scale: number): string {
  if (status === 'failed') return 'failed, no attempt is left'
  if (nextAttemptAt === undefined) return ''
  const delay = ATTEMPT_DELAYS_MS[attempt.number]
  const ms = nextAttemptAt - attempt.at - attempt.durationMs
  return `next in ${showTime(ms)}${scale === 1 || delay === undefined ? '' : ` (${showTime(delay)} at x${scale})`}`
}

const INVALID_RECORD =
  '422: the schema refuses this record, or the event is too old for the receiver; its log says why. Add a field with --set data.record.NAME=VALUE, or leave out --late.'

/** Returns a function that prints advice about attempts that were not acknowledged, once for each kind of failure. */
export function createHints({ stderr }: Io): (result: string, target: URL) => void {
  const said = new Set<string>()
  return (result, target) => {
    const hint = result === '422' ? INVALID_RECORD : findHint(result, target)
    if (hint === undefined || said.has(hint)) return
    said.add(hint)
    stderr.write(`${hint}\n`)
  }
}

/** Returns a function that prints an attempt, with advice on the first failure of each kind. */
export function createAttemptPrinter({ retryScale, json }: { retryScale: number; json?: true | undefined }, io: Io) {
  const giveHint = createHints(io)
  return (delivery: ShownDelivery, attempt: ShownAttempt & { readonly url: string }): void => {
    if (json) writeJson(io, toRecord(delivery, attempt))
    else io.stdout.write(`${formatAttempt(toLine(delivery, attempt, retryScale), hasColour(io, io.stdout))}\n`)
    if (attempt.failure !== undefined) giveHint(toResult(attempt), new URL(attempt.url))
  }
}
