import type { Clock } from '../host/clock.ts'
import type { Store } from '../store/store.ts'
import type { Reporter } from './reporter.ts'
import type { Transact } from './transact.ts'

/** One HTTP request, as far as the handling of its event cares. */
export interface Delivery {
  /** On the monotonic clock. */
  readonly startedAt: number
  readonly source: string | undefined
  readonly waitUntil: ((work: Promise<unknown>) => unknown) | undefined
}

/** What the runs of one receiver share. */
export interface RunHost {
  readonly store: Store
  /** Undefined where the store has no transactions. */
  readonly transact: Transact | undefined
  readonly clock: Clock
  readonly reporter: Reporter
  readonly leaseMs: number
  readonly deadlineMs: number
  readonly handlerTimeoutMs: number
  readonly isClosing: boolean
  /** This run of the key is over. */
  ended(key: string, run: object): void
}
