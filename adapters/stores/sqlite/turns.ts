import { MOST_ACCOUNTS } from '../inbox-lines.ts'

/** The next turn is looked up at most once in this time, in milliseconds. */
const LOOK_EVERY_MS = 10
/** More than can be assigned in a millisecond, so that no account's turns run ahead of the clock. */
const TURNS_IN_MS = 1_000

/**
 * Assigns each account its turns among the ready items: after its own last turn, and not before the next turn of the table. So the backlog
 * of one account is never in front of the first item of another. Each process counts for itself: an account whose items arrive at several
 * processes has as many turns as processes, which starves no other account.
 */
export class Turns {
  readonly #lookUp: () => unknown
  readonly #lastByAccount = new Map<string, number>()
  #next = 0
  #lookedAt = Number.NEGATIVE_INFINITY

  /** @param lookUp returns the turn of the next item; undefined if none is ready */
  constructor(lookUp: () => unknown) {
    this.#lookUp = lookUp
  }

  /** @param now in milliseconds since 1970: turns begin there if nothing is ready */
  next(account: string, now: number): number {
    if (Math.abs(now - this.#lookedAt) >= LOOK_EVERY_MS) this.#look(now)
    const turn = Math.max(this.#lastByAccount.get(account) ?? 0, this.#next) + 1
    this.#lastByAccount.set(account, turn)
    return turn
  }

  #look(now: number): void {
    const next = this.#lookUp()
    this.#next = Number(next ?? now * TURNS_IN_MS)
    this.#lookedAt = now
    if (next === undefined || this.#lastByAccount.size >= MOST_ACCOUNTS) this.#lastByAccount.clear()
  }
}
