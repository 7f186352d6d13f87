import { MOST_ACCOUNTS } from '../../inbox-lines.ts'

/** Time for which a turn that was assigned may not be seen yet, in microseconds: longer than a call of the inbox takes. */
const UNSEEN_FOR = 5_000_000

/** The places of a group of items: the server adds `nths` to the larger of `turns` and the next turn of the table. */
export interface Places {
  readonly accounts: readonly string[]
  /** The last turn of each item's account. */
  readonly turns: readonly number[]
  /** The number of each item among those of its account in the group. */
  readonly nths: readonly number[]
}

/**
 * Assigns each account its turns among the ready items: after its own last turn, and not before the next turn of the table. So the backlog
 * of one account is never in front of the first item of another. Each process counts for itself: an account whose items arrive at several
 * processes has as many turns as processes, which starves no other account.
 */
export class Turns {
  readonly #lastByAccount = new Map<string, number>()
  /** A position before which nothing is ready: a search from there passes few rows that were deleted and still stand in the index. */
  hint = 0

  assign(accounts: readonly string[]): Places {
    const counts = new Map<string, number>()
    const nths = accounts.map((account) => {
      const nth = (counts.get(account) ?? 0) + 1
      counts.set(account, nth)
      return nth
    })
    return { accounts, turns: accounts.map((account) => this.#lastByAccount.get(account) ?? 0), nths }
  }

  /**
   * Remembers the turns that the server assigned.
   *
   * @param next the next turn of the table before; undefined if nothing was ready
   * @param now the server's time: turns begin there if nothing is ready
   */
  learn({ accounts, turns, nths }: Places, next: number | undefined, now: number): void {
    if (next === undefined || this.#lastByAccount.size >= MOST_ACCOUNTS) this.#lastByAccount.clear()
    this.hint = next ?? now - UNSEEN_FOR
    for (const [index, account] of accounts.entries())
      this.#lastByAccount.set(account, Math.max(turns[index] ?? 0, next ?? now) + (nths[index] ?? 0))
  }
}
