import type { Logger } from '../host/logger.ts'
import { quote } from '../protocol/show.ts'

const MOST_UNTAKEN = 10
/** Types that are compared with the patterns: a sender may send any number. */
const MOST_COMPARED = 100
/** Letters that two forms of one word begin with: `success` and `succeeded`. */
const LEAST_SHARED = 5
const SEPARATOR = /[._/:]/

/** The events that a receiver ignores: its patterns may be misspelt. */
export class Untaken {
  readonly #logger: Logger
  /** Types of ignored events, until one was handled. */
  #first: string[] | undefined = []
  readonly #compared = new Set<string>()

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** An event was handled: the patterns are not all wrong. */
  end(): void {
    this.#first = undefined
  }

  /** Warns once of a type that some pattern seems to mean, and of all patterns if they took none of the first events. */
  add(type: string, registrations: readonly { readonly text: string; readonly patterns: readonly Text[] }[]): void {
    if (!this.#compared.has(type) && this.#compared.size < MOST_COMPARED) {
      this.#compared.add(type)
      const near = registrations.flatMap(({ patterns }) => patterns).find(({ text }) => isNear(text, type))
      if (near !== undefined)
        this.#warn(`An event ${quote(type)} was ignored, since no handler takes it. Did you mean it by '${near.text}'?`)
    }
    if (this.#first === undefined || this.#first.push(type) < MOST_UNTAKEN) return
    const came = [...new Set(this.#first)].map(quote).join(', ')
    const texts = registrations.map(({ text }) => text).join(', ')
    this.#warn(
      `The first ${MOST_UNTAKEN} events were ignored, since no handler takes ${came}. The patterns are ${texts}.`,
    )
    this.#first = undefined
  }

  #warn(message: string): void {
    this.#logger.warn({ code: 'pattern_invalid' }, message)
  }
}

interface Text {
  readonly text: string
}

/** Returns true if each word of a pattern is another form of a type's word, or if the pattern lacks the type's last words. */
function isNear(pattern: string, type: string): boolean {
  if (pattern.includes('*')) return false
  const [ours, theirs] = [pattern.split(SEPARATOR), type.split(SEPARATOR)]
  if (ours.length < theirs.length) return type.startsWith(`${pattern}.`)
  return ours.length === theirs.length && ours.every((word, index) => areForms(word, theirs[index] ?? ''))
}

function areForms(word: string, other: string): boolean {
  if (word === other) return true
  let shared = 0
  while (shared < word.length && word[shared] === other[shared]) shared++
  return shared >= LEAST_SHARED || shared === Math.min(word.length, other.length)
}
