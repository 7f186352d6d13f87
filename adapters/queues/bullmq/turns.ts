import { systemClock } from '../../../src/engine.ts'
import { MOST_ACCOUNTS } from '../../stores/inbox-lines.ts'

/** BullMQ's largest priority, which runs last: retried events have it. */
export const LAST = 2 ** 21 - 1
/** Items that an account has in each turn. BullMQ's priorities are limited: more items in each turn make them last longer. */
const ITEMS_A_TURN = 16
/** The next turn is looked up at most once in this time, in milliseconds. */
const LOOK_EVERY_MS = 250

/**
 * Assigns each account its turns, which are BullMQ's priorities: after its own last turn, and not before the next turn of the queue. So the
 * backlog of one account is never in front of the first item of another. Turns begin again whenever nothing waits; if they run out before
 * that, new items run in the order of arrival.
 */
export class Turns {
  readonly #lookUp: () => Promise<number | undefined>
  /** Counted in turns; a fraction is the part of its turn that an account has used. */
  readonly #usedByAccount = new Map<string, number>()
  /** 0 before the first look-up. */
  #next = 0
  #lookedAt = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined
  /** The turn of the account that is furthest ahead. */
  #mostUsed = 0
  /** Set until the first answer, and after a pause: items that came meanwhile would hide that the queue was empty. */
  #mustWait = true

  /** @param lookUp resolves with the turn of the next item; undefined if none waits */
  constructor(lookUp: () => Promise<number | undefined>) {
    this.#lookUp = lookUp
  }

  /** Waits for an answer of the engine the first time, and after a pause in which an account's backlog may have run. */
  async next(account: string): Promise<number> {
    const silentMs = systemClock.monotonic() - this.#lookedAt
    if (silentMs >= LOOK_EVERY_MS) {
      this.#lookedAt = systemClock.monotonic()
      if (silentMs >= 2 * LOOK_EVERY_MS && this.#mostUsed > this.#next + 1) this.#mustWait = true
      this.#looking = this.#look()
    }
    if (this.#mustWait) await this.#looking
    const used = Math.max(this.#usedByAccount.get(account) ?? 0, this.#next)
    this.#usedByAccount.set(account, used + 1 / ITEMS_A_TURN)
    this.#mostUsed = Math.max(this.#mostUsed, used)
    return Math.min(Math.floor(used), LAST - 1)
  }

  async #look(): Promise<void> {
    const found = await this.#lookUp().catch(() => this.#next) // the put that follows reports an engine that is away
    const next = found === undefined || found >= LAST ? 1 : Math.max(found, 1)
    // Nothing waits, or nothing has waited for a while.
    if (found === undefined || next < this.#next || this.#usedByAccount.size >= MOST_ACCOUNTS) {
      this.#usedByAccount.clear()
      this.#mostUsed = 0
    }
    this.#mustWait = false
    this.#next = next
  }
}
