/** What is next is looked up once in this time, in milliseconds. */
const LOOK_EVERY_MS = 10
/** More than can be given in a millisecond: no account's turns run ahead of the clock, behind which others would begin. */
const TURNS_IN_MS = 1_000
/** Accounts that are remembered before all are forgotten. One that has a backlog then gets a second turn in each round. */
const MOST_ACCOUNTS = 100_000

/**
 * Gives each account its turns among those that are ready: behind its own last one, and not before what is next by now. So the backlog of
 * one account is never in front of the first item of another. Each process counts for itself: an account whose items come in by
 * several has as many turns as it has processes, which starves nobody.
 */
export class Turns {
  readonly #lookUp: () => unknown
  readonly #lastByAccount = new Map<string, number>()
  #next = 0
  #lookedAt = Number.NEGATIVE_INFINITY

  /** @param lookUp returns the turn of the item that is next; undefined if none is ready */
  constructor(lookUp: () => unknown) {
    this.#lookUp = lookUp
  }

  /** @param now in milliseconds since 1970: turns begin there when nothing is ready */
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
