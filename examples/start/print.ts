import { styleText } from 'node:util'
import type { Outcome } from 'postern'

const isColourful = process.stdout.isTTY === true && process.env.NO_COLOR === undefined

export function paint(colour: 'green' | 'yellow' | 'red' | 'bold' | 'dim', text: string): string {
  return isColourful ? styleText(colour, text) : text
}

export function heading(text: string): void {
  console.log(`\n${paint('bold', text)}`)
}

export function line(text: string): void {
  console.log(`  ${text}`)
}

/** A remark between the deliveries: what the receiver tells its owner, or what is being done. */
export function note(text: string): void {
  console.log(`    ${paint('dim', `> ${text}`)}`)
}

export function describeOutcome(outcome: Outcome, durationMs: number): string {
  const colour = outcome.status < 300 ? 'green' : outcome.status < 500 ? 'yellow' : 'red'
  const what =
    'code' in outcome
      ? `${outcome.outcome}: ${outcome.code}`
      : outcome.joined
        ? `${outcome.outcome}, with the copy that came first`
        : outcome.outcome
  const columns = [
    (outcome.type ?? '(not verified)').padEnd(24),
    (outcome.id ?? '').padEnd(30),
    paint(colour, String(outcome.status)),
    `${durationMs.toFixed(1)} ms`.padStart(8),
    what,
  ]
  return columns.join('  ')
}
