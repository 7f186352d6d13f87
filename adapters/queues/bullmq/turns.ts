import { systemClock } from '../../../src/engine.ts'
import { MOST_ACCOUNTS } from '../../stores/inbox-lines.ts'

/** BullMQ's largest priority, which runs last: retried events have it. */
export const LAST = 2 ** 21 - 1
/** Items that an account has in each turn. BullMQ's priorities are limited: more items in each turn make them last longer. */
const ITEMS_A_TURN = 16
/** The next turn is looked up at most once in this time, in milliseconds. */
const LOOK_EVERY_MS = 250

/**
 * Returns a function that assigns each account its turns, which are BullMQ's priorities: after its own last turn, and not before the next
 * turn of the queue. So the backlog of one account is never in front of the first item of another. Turns begin again whenever nothing waits;
 * if they run out before that, new items run in the order of arrival.
 *
 * @param lookUp resolves with the turn of the next item; undefined if none waits
 */
export function createTurns(lookUp: () => Promise<number | undefined>): (account: string) => Promise<number> {
  /** Counted in turns; a fraction is the part of its turn that an account has used. */
  const usedByAccount = new Map<string, number>()
  /** 0 before the first look-up. */
  let next = 0
  let lookedAt = Number.NEGATIVE_INFINITY
  let looking: Promise<void> | undefined
  /** The turn of the account that is furthest ahead. */
  let mostUsed = 0
  /** Set until the first answer, and after a pause: items that came meanwhile would hide that the queue was empty. */
  let mustWait = true
  const look = async () => {
    const found = await lookUp().catch(() => next) // the put that follows reports an engine that is away
    const first = found === undefined || found >= LAST ? 1 : Math.max(found, 1)
    // Nothing waits, or nothing has waited for a while.
    if (found === undefined || first < next || usedByAccount.size >= MOST_ACCOUNTS) {
      usedByAccount.clear()
      mostUsed = 0
    }
    mustWait = false
    next = first
  }
  /** Waits for an answer of the engine the first time, and after a pause in which an account's backlog may have run. */
  return async (account) => {
    const silentMs = systemClock.monotonic() - lookedAt
    if (silentMs >= LOOK_EVERY_MS) {
      lookedAt = systemClock.monotonic()
      if (silentMs >= 2 * LOOK_EVERY_MS && mostUsed > next + 1) mustWait = true
      looking = look()
    }
    if (mustWait) await looking
    const used = Math.max(usedByAccount.get(account) ?? 0, next)
    usedByAccount.set(account, used + 1 / ITEMS_A_TURN)
    mostUsed = Math.max(mostUsed, used)
    return Math.min(Math.floor(used), LAST - 1)
  }
}
