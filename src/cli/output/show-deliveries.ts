import { hasColour, type Io } from '../io.ts'
import { formatAttempt, type ShownAttempt, type ShownDelivery, toLine, toRecord, toResult } from './attempt-line.ts'
import { createHints } from './hints.ts'

interface ShowOptions {
  readonly retryScale: number
  readonly json?: true
}

/** Something that happened in an emulator, in this process or another one. */
interface Message {
  readonly type: string
  readonly delivery?: ShownDelivery
  readonly attempt?: ShownAttempt & { readonly url: string }
}

interface DeliveryDisplay {
  /** Shows an attempt that has ended, and advice on the first failure of each kind. Passes over other messages. */
  show(message: Message): void
  /** Writes the last words. @param pending undefined if it is not known */
  finish(pending: number | undefined): void
}

export function createDeliveryDisplay({ retryScale, json }: ShowOptions, io: Io): DeliveryDisplay {
  const giveHint = createHints(io)
  const tally = { deliveries: 0, attempts: 0, succeeded: 0, failed: 0 }
  return {
    show({ type, delivery, attempt }) {
      if (type === 'delivery') tally.deliveries++
      if (type !== 'attempt' || delivery === undefined || attempt === undefined) return
      tally.attempts++
      if (delivery.status === 'success') tally.succeeded++
      if (delivery.status === 'failed') tally.failed++
      const line = json
        ? JSON.stringify(toRecord(delivery, attempt))
        : formatAttempt(toLine(delivery, attempt, retryScale), hasColour(io, io.stdout))
      io.stdout.write(`${line}\n`)
      if (attempt.failure !== undefined) giveHint(toResult(attempt), new URL(attempt.url))
    },
    finish(pending) {
      const { deliveries, attempts, succeeded, failed } = tally
      if (json) io.stdout.write(`${JSON.stringify({ type: 'summary', ...tally, pending: pending ?? null })}\n`)
      const rest = pending === undefined ? '' : `, ${pending} pending`
      io.stderr.write(
        `${count(deliveries, 'delivery', 'deliveries')}, ${count(attempts, 'attempt', 'attempts')}: ${succeeded} acknowledged, ${failed} failed${rest}\n`,
      )
    },
  }
}

function count(number: number, one: string, several: string): string {
  return `${number} ${number === 1 ? one : several}`
}
