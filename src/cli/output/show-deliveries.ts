import type { Emulator } from '../../emulator/emulator.ts'
import { hasColour, type Io } from '../io.ts'
import { formatAttempt, toLine, toRecord, toResult } from './attempt-line.ts'
import { createHints } from './hints.ts'

export interface ShowOptions {
  readonly retryScale: number
  readonly json?: true
}

/** Shows every attempt of an emulator as it ends, and what to do about the first one of each kind of failure. Gives the last words. */
export function showDeliveries(emulator: Emulator, { retryScale, json }: ShowOptions, io: Io): () => void {
  const giveHint = createHints(io)
  const tally = { deliveries: 0, attempts: 0, succeeded: 0, failed: 0 }
  const stop = emulator.subscribe((message) => {
    if (message.type === 'delivery') tally.deliveries++
    if (message.type !== 'attempt') return
    const { delivery, attempt } = message
    tally.attempts++
    if (delivery.status === 'success') tally.succeeded++
    if (delivery.status === 'failed') tally.failed++
    io.stdout.write(
      json
        ? `${JSON.stringify(toRecord(delivery, attempt))}\n`
        : `${formatAttempt(toLine(delivery, attempt, retryScale), hasColour(io, io.stdout))}\n`,
    )
    if (attempt.failure !== undefined) giveHint(toResult(attempt), new URL(attempt.url))
  })
  return () => {
    stop()
    const { deliveries, attempts, succeeded, failed } = tally
    const pending = emulator.deliveries.list().filter(({ status }) => status === 'pending').length
    if (json) io.stdout.write(`${JSON.stringify({ type: 'summary', ...tally, pending })}\n`)
    io.stderr.write(
      `${count(deliveries, 'delivery', 'deliveries')}, ${count(attempts, 'attempt', 'attempts')}: ${succeeded} acknowledged, ${failed} failed, ${pending} pending\n`,
    )
  }
}

function count(number: number, one: string, several: string): string {
  return `${number} ${number === 1 ? one : several}`
}
