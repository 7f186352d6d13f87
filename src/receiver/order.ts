import { positionKey } from '../protocol/dedup-key.ts'
import type { ParsedEvent } from '../protocol/envelope.ts'
import type { Outcome } from '../protocol/outcome.ts'
import type { Position } from '../store/store.ts'
import type { Route } from './routes.ts'

const ISO_TIME = /^(\d{4})-(\d{2})-(\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/

/** Compares an event with the latest event of its record, for handlers with `order: 'latest'`. */
export class Order {
  /** Keys of the positions, in the order of `#names`. */
  readonly keys: readonly string[]
  readonly #names: readonly string[]
  readonly #at: number
  /** Names of the handlers for which the event is outdated. */
  readonly #skipped: string[] = []
  #latest: readonly (number | undefined)[] = []

  private constructor(names: readonly string[], at: number, toKey: (handler: string) => string) {
    this.#names = names
    this.#at = at
    this.keys = names.map(toKey)
  }

  /** Returns undefined for an event that cannot be compared: it has no record id, or no valid time. */
  static of(receiverName: string, { model, handlers }: Route, event: ParsedEvent): Order | undefined {
    const { accountKey, timestamp, data } = event
    const at = readTime(timestamp)
    const id: unknown = Object(data.record)._id
    if (model === undefined || at === undefined || typeof id !== 'string' || id === '') return undefined
    const names = handlers.filter(({ order }) => order === 'latest').map(({ name }) => name)
    return new Order(names, at, (handler) => positionKey(receiverName, accountKey, { model, id, handler }))
  }

  /** Takes the positions in the store from a claim. Returns false if it is not a list of one for each key. */
  take(positions: unknown): boolean {
    if (!Array.isArray(positions) || positions.length !== this.keys.length) return false
    if (!positions.every((at) => at === undefined || Number.isFinite(at))) return false
    this.#latest = positions
    return true
  }

  /** Returns true if a newer event has completed for the handler. An event of the same time is not newer. */
  isOutdated(handler: string): boolean {
    return (this.#latest[this.#names.indexOf(handler)] ?? Number.NEGATIVE_INFINITY) > this.#at
  }

  skip(handler: string): void {
    this.#skipped.push(handler)
  }

  /** Adds the names of skipped handlers to an outcome. */
  addSkipped(outcome: Outcome): Outcome {
    // Spreading widens the union.
    return this.#skipped.length === 0 ? outcome : ({ ...outcome, skipped: [...this.#skipped] } as Outcome)
  }

  /** Returns the positions to store when these handlers have finished. */
  positionsOf(names: readonly string[]): readonly Position[] {
    return names.flatMap((name) => this.positionOf(name) ?? [])
  }

  /** Returns undefined for a handler without an order. */
  positionOf(handler: string): Position | undefined {
    const key = this.keys[this.#names.indexOf(handler)]
    return key === undefined ? undefined : { key, at: this.#at }
  }
}

/** Returns a time in milliseconds since 1970; undefined unless it is ISO 8601 with a zone: `Date.parse` also takes other formats. */
function readTime(timestamp: string): number | undefined {
  const [, year, month, day] = ISO_TIME.exec(timestamp) ?? []
  if (year === undefined) return undefined
  // V8 reads February 30 as March 2.
  const midnight = new Date(`${year}-${month}-${day}T00:00:00Z`)
  if (midnight.getUTCDate() !== Number(day)) return undefined
  const time = Date.parse(timestamp)
  return Number.isNaN(time) ? undefined : time
}
