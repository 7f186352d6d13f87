import type { Clock } from '../../src/host/clock.ts'
import type { Assumed } from './assumptions.ts'
import type { Feed } from './feed.ts'
import type { Journal } from './journal.ts'
import type { Ids } from './random.ts'

/** Parts that all others of the emulator use. */
export interface Core {
  readonly assumed: Assumed
  readonly clock: Clock & { track?(work: PromiseLike<unknown>): void }
  readonly feed: Feed
  readonly ids: Ids
  readonly journal: Journal
}
