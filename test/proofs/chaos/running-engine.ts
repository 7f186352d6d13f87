import type { Inbox } from 'postern'
import type { EngineAddress } from './messages.ts'
import type { Outage } from './verdict.ts'

/** An engine that a chaos run has started for itself. */
export interface RunningEngine {
  readonly address: EngineAddress
  /** Ways to disturb it, each of which ends once it serves again. */
  readonly faults: readonly (() => Promise<void>)[]
  /** The times at which it was away for longer than a claim lives, by the machine's clock. */
  readonly outages?: readonly Outage[]
  /** Returns whether it refuses all writes right now. */
  readonly isLocked?: () => boolean
  /** Its own view of the inbox, if it has one. */
  readonly inbox?: Inbox
  /** With transactions: the event ids in the user's own table, one for each row. */
  readonly readEffects?: () => Promise<readonly string[]>
  close(): Promise<void>
}
