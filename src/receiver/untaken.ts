import type { Logger } from '../host/logger.ts'
import { NAMED_MODELS, splitType } from '../protocol/events.ts'
import { findMeantModel } from '../protocol/find-meant-type.ts'
import { findNearest } from '../protocol/nearest.ts'
import { type EventPattern, fold } from '../protocol/pattern.ts'
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
  readonly #models: ReadonlyMap<string, unknown>
  /** Types of ignored events, until one was handled. */
  #first: string[] | undefined = []
  readonly #compared = new Set<string>()
  /** Types of events that were handled. */
  readonly #taken = new Set<string>()

  /** @param models the declared models */
  constructor(logger: Logger, models: ReadonlyMap<string, unknown> = new Map()) {
    this.#logger = logger
    this.#models = models
  }

  /** An event was handled: the patterns are not all wrong. */
  end(type: string): void {
    this.#first = undefined
    if (this.#taken.size < MOST_COMPARED) this.#taken.add(type)
  }

  /** Warns once of a type that is near to a pattern which has taken no event, and of all patterns if they took none of the first events. */
  add(type: string, registrations: readonly Registered[]): void {
    if (!this.#compared.has(type) && this.#compared.size < MOST_COMPARED) {
      this.#compared.add(type)
      const near = registrations
        .flatMap(({ patterns }) => patterns)
        .find((pattern) => isNear(pattern, type) && !this.#isRight(pattern, type))
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

  /** Returns true for a pattern that has taken an event, of a documented model, or of a declared one that is no other form of the type's. */
  #isRight(pattern: EventPattern, type: string): boolean {
    const model = 'model' in pattern ? pattern.model : undefined
    const came = splitType(type)?.model
    if (model !== undefined && NAMED_MODELS.includes(model)) return true
    if (model !== undefined && this.#models.has(model))
      return (
        came === undefined || !NAMED_MODELS.includes(came) || !(findMeantModel(model) === came || isPartOf(model, came))
      )
    return pattern.kind === 'model'
      ? [...this.#taken].some((type) => type.startsWith(`${pattern.model}.`))
      : this.#taken.has(pattern.text)
  }

  #warn(message: string): void {
    this.#logger.warn({ code: 'pattern_invalid' }, message)
  }
}

interface Registered {
  readonly text: string
  readonly patterns: readonly EventPattern[]
}

/** Returns true if each word of a pattern is another form of a type's word, or if the pattern lacks the type's first or last words. */
function isNear(pattern: EventPattern, type: string): boolean {
  if (pattern.kind !== 'type' && pattern.kind !== 'model') return false
  const text = pattern.kind === 'model' ? `${pattern.model}${type.slice(type.indexOf('.'))}` : pattern.text
  if (fold(text) === fold(type)) return true
  const [ours, theirs] = [text.split(SEPARATOR), type.split(SEPARATOR)]
  if (ours.length < theirs.length) return type.startsWith(`${text}.`) || type.endsWith(`.${text}`)
  return ours.length === theirs.length && ours.every((word, index) => areForms(word, theirs[index] ?? ''))
}

/** Returns true for the last words of a name, such as `invoice` for `financeInvoice`, however they are joined. */
function isPartOf(word: string, other: string): boolean {
  return fold(word) === fold(other) || other.endsWith(word.replace(/^./, (first) => first.toUpperCase()))
}

function areForms(word: string, other: string): boolean {
  if (word === other || isPartOf(word, other)) return true
  if (word.length > 3 && findNearest(word, [other], 1) !== undefined) return true
  let shared = 0
  while (shared < word.length && word[shared] === other[shared]) shared++
  return shared >= LEAST_SHARED || shared === Math.min(word.length, other.length)
}
