import { type Io, writeJson } from '../io.ts'
import { createAttemptPrinter, type ShownAttempt, type ShownDelivery } from './attempt-line.ts'

interface ShowOptions {
  readonly retryScale: number
  readonly json?: true
}

/** Message of an emulator, in this process or another one. */
interface Message {
  readonly type: string
  readonly delivery?: ShownDelivery
  readonly attempt?: ShownAttempt & { readonly url: string }
}

interface DeliveryDisplay {
  /** Shows an attempt that has ended, and advice on the first failure of each kind. Ignores other messages. */
  show(message: Message): void
  /** Writes the summary. @param pending undefined if it is not known */
  finish(pending: number | undefined): void
}

export function createDeliveryDisplay({ retryScale, json }: ShowOptions, io: Io): DeliveryDisplay {
  const print = createAttemptPrinter({ retryScale, json }, io)
  const tally = { deliveries: 0, attempts: 0, succeeded: 0, failed: 0 }
  return {
    show({ type, delivery, attempt }) {
      if (type === 'delivery') tally.deliveries++
      if (type !== 'attempt' || delivery === undefined || attempt === undefined) return
      tally.attempts++
      if (delivery.status === 'success') tally.succeeded++
      if (delivery.status === 'failed') tally.failed++
      print(delivery, attempt)
    },
    finish(pending) {
      const { deliveries, attempts, succeeded, failed } = tally
      if (json) writeJson(io, { type: 'summary', ...tally, pending: pending ?? null })
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
