/** What is next is looked up once in this time, in milliseconds. */
const LOOK_EVERY_MS = 10
/** Accounts that are remembered before those are forgotten that have no backlog. */
const MOST_ACCOUNTS = 10_000

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

  /** @param now in milliseconds since 1970: turns begin there when nothing is ready, and so behind all that were given before */
  next(account: string, now: number): number {
    if (Math.abs(now - this.#lookedAt) >= LOOK_EVERY_MS) this.#look(now)
    const turn = Math.max(this.#lastByAccount.get(account) ?? 0, this.#next) + 1
    this.#lastByAccount.set(account, turn)
    return turn
  }

  #look(now: number): void {
    this.#next = Number(this.#lookUp() ?? now)
    this.#lookedAt = now
    if (this.#lastByAccount.size < MOST_ACCOUNTS) return
    for (const [account, turn] of this.#lastByAccount) if (turn <= this.#next) this.#lastByAccount.delete(account)
  }
}
