/** The largest number that BullMQ takes as a priority is the last to run: events that are tried again have it. */
export const LAST = 2 ** 21 - 1
/** Items that an account has in each turn. BullMQ's numbers end, and the more there are in each, the longer they last. */
const ITEMS_A_TURN = 16
/** What is next is looked up once in this time, in milliseconds. */
const LOOK_EVERY_MS = 250
/** Accounts that are remembered before all are forgotten. One that has a backlog then gets a second place in each turn. */
const MOST_ACCOUNTS = 100_000

/**
 * Gives each account its turns, which are BullMQ's priorities: behind its own last one, and not before what is next by now. So the backlog
 * of one account is never in front of the first item of another. Turns begin anew whenever nothing waits; if they run out before
 * that, what comes in is worked off as it comes.
 */
export class Turns {
  readonly #lookUp: () => Promise<number | undefined>
  /** In turns; a fraction is the part of its turn that an account has used. */
  readonly #usedByAccount = new Map<string, number>()
  /** 0 before the first look. */
  #next = 0
  #lookedAt = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined

  /** @param lookUp resolves with the turn of the item that is next; undefined if none waits */
  constructor(lookUp: () => Promise<number | undefined>) {
    this.#lookUp = lookUp
  }

  /** Waits for an answer of the engine the first time, and after a pause in which what the account has used may have been worked off. */
  async next(account: string): Promise<number> {
    const silentMs = performance.now() - this.#lookedAt
    if (silentMs >= LOOK_EVERY_MS) {
      this.#lookedAt = performance.now()
      this.#looking = this.#look()
    }
    const isAhead = (this.#usedByAccount.get(account) ?? 0) > this.#next + 1
    if (this.#next === 0 || (isAhead && silentMs >= 2 * LOOK_EVERY_MS)) await this.#looking
    const used = Math.max(this.#usedByAccount.get(account) ?? 0, this.#next)
    this.#usedByAccount.set(account, used + 1 / ITEMS_A_TURN)
    return Math.min(Math.floor(used), LAST - 1)
  }

  async #look(): Promise<void> {
    const found = await this.#lookUp().catch(() => this.#next) // the put that follows tells of an engine that is away
    const next = found === undefined || found >= LAST ? 1 : Math.max(found, 1)
    // Nothing waits, or nothing did for a while.
    if (found === undefined || next < this.#next || this.#usedByAccount.size >= MOST_ACCOUNTS)
      this.#usedByAccount.clear()
    this.#next = next
  }
}
