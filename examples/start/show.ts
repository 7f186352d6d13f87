import { styleText } from 'node:util'

const isColoured = process.stdout.isTTY === true && (process.env.NO_COLOR ?? '') === ''

export function paint(colour: 'green' | 'red' | 'bold' | 'dim', text: string): string {
  return isColoured ? styleText(colour, text) : text
}

export function heading(text: string): void {
  console.log(`\n${paint('bold', text)}`)
}

export function remark(text: string): void {
  console.log(paint('dim', `          ${text}`))
}

/** One request of the service, and its answer. */
export interface Shown {
  readonly type: string
  readonly eventId: string
  /** The number of the attempt, as in `2/5`. */
  readonly step: string
  readonly status: number | undefined
  readonly durationMs: number
  /** The body of the answer: `{"code":"handled",…}`. */
  readonly body: string
  /** The time until the next attempt. */
  readonly nextInMs: number | undefined
  /** Set if no attempt is left. */
  readonly hasFailed: boolean
}

export function line({ type, eventId, step, status, durationMs, body, nextInMs, hasFailed }: Shown): void {
  const code = /"code":"(\w+)"/.exec(body)?.[1] ?? ''
  const next = hasFailed ? ', failed' : nextInMs === undefined ? '' : `, next in ${Math.round(nextInMs)} ms`
  const columns = [
    new Date().toTimeString().slice(0, 8),
    type.padEnd(23),
    eventId.padEnd(29),
    step.padEnd(6),
    paint(status !== undefined && status < 300 ? 'green' : 'red', String(status ?? 'none')),
    `${Math.round(durationMs)} ms`.padStart(7),
    `${code === 'duplicate' ? 'duplicate, handler not run' : code}${next}`,
  ]
  console.log(columns.join('  '))
}
