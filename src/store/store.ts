import type { Logger } from '../host/logger.ts'

/** The answer to a claim: the right to run the event's handlers, or the news that they have run or are running. */
export type Claim =
  | {
      readonly state: 'claimed'
      /** Proves the claim to `renew`, `complete` and `release`. No other claim of any process ever has the same. */
      readonly token: string
      /** Names of the handlers that finished in earlier attempts. */
      readonly marks: readonly string[]
      /** The positions of `positionKeys`, in their order; undefined for a key that has none. */
      readonly positions?: readonly (number | undefined)[] | undefined
    }
  | {
      readonly state: 'done'
      /** The texts that `complete` was given, if the store keeps them. */
      readonly by?: readonly string[] | undefined
    }
  | { readonly state: 'busy' }

/** The position of a record for one handler: the time of the latest event that the handler completed, in milliseconds since 1970. */
export interface Position {
  /** Key of the record and the handler: printable ASCII of up to 400 characters, which no event's key equals. */
  readonly key: string
  readonly at: number
}

/**
 * A store remembers which events are done and which are under way. Every method is one atomic step. A claim is a lease: it ends by
 * itself unless it is renewed, so that a process that dies blocks its event for no longer than `leaseMs`.
 *
 * `renew`, `complete` and `release` return false, and change nothing, if another token holds the key; a lease that has ended
 * holds nothing. Repeated with the same token they answer as the first time. A mark that was kept is never lost before the event
 * is done or `retentionMs` have passed. Time is the engine's own clock, never a caller's.
 *
 * Handlers with `order: 'latest'` need positions. A store keeps the greatest `at` of each key for `retentionMs`, even if the call returns
 * false. A process that finds the event done, or a mark, finds the positions that came with it.
 *
 * Methods may answer immediately or by a promise. They throw or reject only if the engine cannot be reached.
 */
export interface Store {
  /** The time for which done ids and finish marks are kept, in milliseconds. A receiver refuses less than 3 hours. */
  readonly retentionMs: number

  /** True if it keeps positions. */
  readonly keepsPositions?: boolean | undefined

  /** Takes the key for `leaseMs` milliseconds, or says why not. */
  claim(key: string, leaseMs: number, positionKeys?: readonly string[]): Claim | Promise<Claim>

  /** Extends a claim to `leaseMs` from now, and keeps the marks made since. True as well if nobody holds the key; false if the event is done. */
  renew(
    key: string,
    token: string,
    leaseMs: number,
    marks: readonly string[],
    positions?: readonly Position[],
  ): boolean | Promise<boolean>

  /**
   * Marks the event as done. True as well if nobody holds the key any more.
   *
   * @param by up to 17 texts that say who handled it. A store that processes share keeps them, and returns them with a later claim.
   */
  complete(
    key: string,
    token: string,
    positions?: readonly Position[],
    by?: readonly string[],
  ): boolean | Promise<boolean>

  /** Releases the key, with the names of the handlers that have finished, so that the next attempt runs only the others. An event that is done stays so. */
  release(
    key: string,
    token: string,
    marks: readonly string[],
    positions?: readonly Position[],
  ): boolean | Promise<boolean>

  /** Forgets that an event is done, and its finish marks, so that all of its handlers run again. Returns false if it knows nothing of the key, or if a lease of it has not ended. */
  forget?(key: string): boolean | Promise<boolean>

  /** Called once by each receiver that stands on the store, so that it can report what its owner should know. */
  reportTo?(logger: Logger): void
}
