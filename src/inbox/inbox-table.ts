import type { InboxEntry, InboxTry, Settlement } from './inbox.ts'

/**
 * Engine that is polled for items. Each step is atomic, and rejects only if the engine cannot be reached.
 *
 * An item counts a loss whenever its lease ends before its worker settled it, and a death as well if it ran alone then. After one loss it
 * waits as before; from the second on it is a suspect. A try that waits for the next one clears both counts, unless it is `isUnproven`.
 */
export interface InboxTable {
  /** Takes the next due items for `leaseMs` from now. Accounts take turns. */
  take(request: TakeRequest): Promise<Taken>
  /**
   * Renews the lease of all items that the worker holds, to `leaseMs` from now. A worker that renews, takes or settles is alive: it still
   * holds an item whose lease ended if no other worker took it, and a loss that it caused is taken back if it is the item's last one.
   */
  renew(worker: string, leaseMs: number): Promise<unknown>
  /** Settles an item. Resolves with false, and does nothing, if the worker no longer holds the item. */
  settle(item: InboxEntry, worker: string, settlement: Settlement): Promise<boolean>
  /** Called when the worker has closed, and has settled all its items. */
  leave?(): Promise<void>
  /** Calls back whenever this process puts an item. Returns a function that removes the callback. */
  onPut(callback: () => void): () => void
}

/** Items that a worker asks its table for. */
export interface TakeRequest {
  /** Name of the worker, unique among processes. */
  readonly worker: string
  /** The most items to take. */
  readonly limit: number
  /** Lease of each item, in milliseconds. */
  readonly leaseMs: number
  /**
   * Suspects that the worker can take, of which all workers together run one alone at a time.
   * - `take`: nothing runs in the worker. A suspect that is due comes before everything else, and alone.
   * - `await`: something runs. If a suspect is due, the answer says so, and the worker makes room for it.
   * - `leave`: take others only.
   * - `join`: take others only; the suspect that runs in this worker is not alone from now on.
   */
  readonly suspects: 'take' | 'await' | 'leave' | 'join'
}

/** Items that a worker has taken. */
export interface Taken {
  readonly items: readonly InboxEntry[]
  /** True if more are due, whose bodies were too large to come along. */
  readonly isCut?: boolean | undefined
  /**
   * Set if the only item is a suspect: the time from its previous take to the last renewal before it was lost, in milliseconds; Infinity if the
   * engine does not know it.
   */
  readonly ranMs?: number | undefined
  /** True if a suspect is due that this worker alone is to make room for; then there are no items. Only after `await`. */
  readonly isAwaited?: boolean | undefined
}

/** Number of tries that an item keeps. */
const TRIES_KEPT = 20

/** Returns the tries that an item keeps, with one more. A try with the number of the last one continues it, and takes its place. */
export function keepTry(before: readonly InboxTry[], tried: InboxTry): readonly InboxTry[] {
  const isSame = before.at(-1)?.n === tried.n
  return [...(isSame ? before.slice(0, -1) : before), tried].slice(-TRIES_KEPT)
}
