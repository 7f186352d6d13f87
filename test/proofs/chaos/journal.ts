import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

/**
 * A worker's records, one a line. The system keeps a written line no matter how the process ends.
 *
 * `begin`, `end` and `failure` belong to a handler; `settled` is written once the store has answered `complete` or `release`.
 */
export type RecordKind = 'begin' | 'end' | 'failure' | 'settled'

export interface JournalRecord {
  readonly kind: RecordKind
  readonly eventId: string
  /** Empty for `settled`, which belongs to the event. */
  readonly handler: string
  /** Microseconds on the machine's monotonic clock, which all its processes share. */
  readonly at: number
}

/** Microseconds on the monotonic clock of the machine. */
export function machineTime(): number {
  return Number(process.hrtime.bigint() / 1_000n)
}

export class JournalWriter {
  readonly #file: number

  constructor(path: string) {
    this.#file = openSync(path, 'a')
  }

  write(kind: RecordKind, eventId: string, handler = ''): void {
    writeSync(this.#file, `${kind} ${eventId} ${handler} ${machineTime()}\n`)
  }

  close(): void {
    closeSync(this.#file)
  }
}

export function readJournal(path: string): readonly JournalRecord[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  // A line that the kill has cut off is ignored.
  return lines.slice(0, -1).map((line) => {
    const [kind = '', eventId = '', handler = '', at = ''] = line.split(' ')
    return { kind: kind as RecordKind, eventId, handler, at: Number(at) } // only written above
  })
}
