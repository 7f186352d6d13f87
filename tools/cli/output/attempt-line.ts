import { styleText } from 'node:util'
import type * as z from 'zod'
import { showDuration } from '../../../src/host/duration.ts'
import { ATTEMPT_DELAYS_MS, MAX_ATTEMPTS } from '../../../src/protocol/schedule.ts'
import type { attempt, delivery } from '../../emulator/contract.ts'
import { readCode } from '../../wire/code-word.ts'
import { findHint } from '../../wire/find-hint.ts'
import { emit, hasColour, type Io, tell } from '../io.ts'
import { toPrintable } from './print-table.ts'

/** Delivery and attempt of an emulator, in this process or another one. Times are in milliseconds since 1970. */
export type ShownDelivery = Omit<z.output<typeof delivery>, 'attempts'>
type EmulatorAttempt = z.output<typeof attempt>

type ShownEvent = Pick<ShownDelivery, 'eventId' | 'eventType'>
export type ShownAttempt = Omit<EmulatorAttempt, 'url'>

/** Notes on an attempt: its number, such as `2/5` or `copy 2`, and when the next one begins. */
interface Notes {
  readonly step: string
  readonly next?: string
}

/** Writes one line for people, in columns, without its line break. */
function formatAttempt(
  { eventType, eventId }: ShownEvent,
  attempt: ShownAttempt,
  { step, next = '' }: Notes,
  isColoured: boolean,
): string {
  const word = toPrintable(toResult(attempt)).padEnd(7)
  const columns = [
    new Date(attempt.at).toTimeString().slice(0, 8),
    toPrintable(eventType).padEnd(26),
    toPrintable(eventId).padEnd(28),
    step.padEnd(6),
    isColoured ? styleText(attempt.failure === undefined ? 'green' : 'red', word) : word,
    `${Math.round(attempt.durationMs)} ms`.padStart(8),
    [readCode(attempt.responseBody), next].filter(Boolean).join(', '),
  ]
  return columns.join('  ').trimEnd()
}

/** Returns a delivery as it stood after the attempt of that index. */
export function standAfter(delivery: ShownDelivery, attempts: readonly ShownAttempt[], index: number): ShownDelivery {
  const next = attempts[index + 1]
  return next === undefined ? delivery : { ...delivery, status: 'pending', nextAttemptAt: next.at }
}

function toNotes(delivery: ShownDelivery, attempt: ShownAttempt, scale: number): Notes {
  const { number, failure } = attempt
  const step = number > MAX_ATTEMPTS ? 'retry' : `${number}/${MAX_ATTEMPTS}`
  return { step, next: failure === undefined ? '' : showNext(delivery, attempt, scale) }
}

/** Makes the JSON record of an attempt, for programs. */
function toRecord({ eventId, eventType }: ShownEvent, attempt: ShownAttempt, more: object): object {
  const { at, status, failure, responseBody, durationMs } = attempt
  return {
    type: 'attempt',
    at: new Date(at).toISOString(),
    eventId,
    eventType,
    ...more,
    isAcknowledged: failure === undefined,
    status: status ?? null,
    error: failure === undefined || failure === 'status' ? null : failure,
    code: readCode(responseBody),
    durationMs: Math.round(durationMs * 10) / 10,
  }
}

function toFields({ id, status, nextAttemptAt }: ShownDelivery, { number }: ShownAttempt): object {
  const next = nextAttemptAt === undefined ? null : new Date(nextAttemptAt).toISOString()
  return { deliveryId: id, number, of: MAX_ATTEMPTS, delivery: status, nextAttemptAt: next }
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
  return `next in ${showDuration(ms)}${scale === 1 || delay === undefined ? '' : ` (${showDuration(delay)} at x${scale})`}`
}

const INVALID_RECORD =
  '422: the schema refuses this record, or the event is too old for the receiver; its log says why. Add a field with --set data.record.NAME=VALUE, or leave out --late.'

/** Returns a function that prints an attempt, with advice on the first failure of each kind. */
export function createAttemptPrinter(signatureHeader: string, io: Io) {
  const said = new Set<string>()
  return (event: ShownEvent, attempt: ShownAttempt, target: URL, notes: Notes, fields: object): void => {
    emit(io, toRecord(event, attempt, fields), formatAttempt(event, attempt, notes, hasColour(io, io.stdout)))
    const hint = adviseOn(attempt, target, signatureHeader)
    if (hint === undefined || said.has(hint)) return
    said.add(hint)
    tell(io, hint)
  }
}

function adviseOn(attempt: ShownAttempt, target: URL, signatureHeader: string): string | undefined {
  if (attempt.failure === undefined) return undefined
  const result = toResult(attempt)
  if (result === 'reset' && attempt.phases === undefined && attempt.error) return `reset: ${attempt.error}`
  return result === '422' ? INVALID_RECORD : findHint(result, target, undefined, signatureHeader)
}

interface Message {
  readonly type: string
  readonly delivery?: ShownDelivery | undefined
  readonly attempt?: EmulatorAttempt | undefined
}

/** Settings of an emulator that its lines tell. */
interface EmulatorFacts {
  readonly retryScale: number
  readonly signatureHeader: string
}

/** Returns a function that prints an attempt of an emulator's delivery. */
export function createDeliveryPrinter({ retryScale, signatureHeader }: EmulatorFacts, io: Io) {
  const print = createAttemptPrinter(signatureHeader, io)
  return (delivery: ShownDelivery, attempt: EmulatorAttempt): void =>
    print(delivery, attempt, new URL(attempt.url), toNotes(delivery, attempt, retryScale), toFields(delivery, attempt))
}

/** Returns a display of the attempts of an emulator, with a summary. */
export function createDeliveryDisplay(emulator: EmulatorFacts, io: Io) {
  const print = createDeliveryPrinter(emulator, io)
  // By id: a retry by hand is another attempt of the same delivery.
  const states = new Map<string, string>()
  let attempts = 0
  return {
    /** Shows an attempt that has ended, and advice on the first failure of each kind. Ignores other messages. */
    show({ type, delivery, attempt }: Message): void {
      if (delivery !== undefined) states.set(delivery.id, delivery.status)
      if (type !== 'attempt' || delivery === undefined || attempt === undefined) return
      attempts++
      print(delivery, attempt)
    },
    /** Writes the summary. @param pending undefined if it is not known */
    finish(pending: number | undefined): void {
      const countOf = (state: string) => [...states.values()].filter((each) => each === state).length
      const [deliveries, succeeded, failed] = [states.size, countOf('success'), countOf('failed')]
      emit(io, { type: 'summary', deliveries, attempts, succeeded, failed, pending: pending ?? null })
      const rest = pending === undefined ? '' : `, ${pending} pending`
      tell(
        io,
        `${count(deliveries, 'delivery', 'deliveries')}, ${count(attempts, 'attempt', 'attempts')}: ${succeeded} acknowledged, ${failed} failed${rest}`,
      )
    },
  }
}

function count(number: number, one: string, several: string): string {
  return `${number} ${number === 1 ? one : several}`
}
