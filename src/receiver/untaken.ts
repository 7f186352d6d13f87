import type { Logger } from '../host/logger.ts'
import { quote } from '../protocol/show.ts'

const MOST_UNTAKEN = 10

/** The events that a receiver ignored before it has handled any: its patterns may be misspelt. */
export class Untaken {
  readonly #logger: Logger
  readonly #types: string[] = []

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Returns true after the last event that it notes, when it has warned. */
  add(type: string, registrations: readonly { readonly text: string }[]): boolean {
    if (this.#types.push(type) < MOST_UNTAKEN) return false
    const came = [...new Set(this.#types)].map(quote).join(', ')
    const patterns = registrations.map(({ text }) => text).join(', ')
    const message = `The first ${MOST_UNTAKEN} events were ignored, since no handler takes ${came}. The patterns are ${patterns}.`
    this.#logger.warn({ code: 'pattern_invalid' }, message)
    return true
  }
}
