/** Violations that must never happen. README.md explains the promise behind each. */
export type Rule =
  | 'unsigned event handled'
  | 'event changed'
  | 'trace of a refused delivery'
  | 'refused though signed'
  | 'accepted though not signed'
  | 'acknowledged early'
  | 'done early'
  | 'mark without work'
  | 'repeated'
  | 'outdated event handled'
  | 'overlapping'
  | 'effect not once'
  | 'lease ran out'
  | 'store broke its contract'
  | 'settled after it was given up'
  | 'answered late'
  | 'never answered'
  | 'not reported once'
  | 'never handled'
  | 'never at rest'
  | 'never aborted'
  | 'aborted at the wrong time'
  | 'unfinished'
  | 'timer left'
  | 'close lost answers'
  | 'close late'
  | 'vanished'
  | 'stuck'
  | 'not alone'
  | 'worked too long'
  | 'miscounted'
  | 'back too soon'
  | 'held up'
  | 'dead too soon'
  | 'not dead'
  | 'marks lost'
  | 'starved'
  | 'kept by a closed worker'
  | 'inbox broke its contract'
  | 'secret told'
  | 'foreign context'
  | 'unhandled rejection'
  | 'threw'

/** One breach of a rule. */
export interface Violation {
  readonly rule: Rule
  readonly message: string
}

/** The breaches of a run, in the order in which they were found. */
export class Findings {
  readonly all: Violation[] = []
  readonly #say: (text: () => string) => void

  constructor(say: (text: () => string) => void) {
    this.#say = say
  }

  add(rule: Rule, message: string): void {
    this.all.push({ rule, message })
    this.#say(() => `VIOLATION: ${rule}: ${message}`)
  }
}
