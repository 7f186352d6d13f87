import { Activity } from '../host/activity.ts'
import { makeDedupKeys } from '../protocol/dedup-key.ts'
import { PosternError } from '../protocol/errors.ts'
import type { WebhookEvent } from '../protocol/events.ts'
import type { Outcome } from '../protocol/outcome.ts'
import { type Transact, toTransact } from '../store/transactional-store.ts'
import type { ReceiverSettings } from './options.ts'
import type { Reporter } from './reporter.ts'

const NO_HANDLERS =
  'A signed event came in, but no handler is registered. Handlers are often registered in a module that nothing imports: import it before the receiver is mounted. Until then deliveries fail, so that their sender repeats them.'

/** State that all deliveries and runs of one receiver share. */
export class Shared {
  readonly settings: ReceiverSettings
  readonly reporter: Reporter
  readonly activity = new Activity()
  /** Returns the deduplication key of an event. */
  readonly toKey: (accountKey: string, id: string) => string
  /** Undefined if the store has no transactions. */
  readonly transact: Transact | undefined
  /** Runs whose handlers are being called synchronously, the innermost last. */
  readonly beginning: { readonly key: string }[] = []
  /** Number of ended attempts whose marks the store has not stored yet. */
  untakenMarks = 0
  isClosing = false
  /** Number of events without a lane, until one has a lane. */
  laneless = 0
  /** True once the receiver had a worker, until that is closed. */
  hasWorked = false
  /** When to look whether any worker takes what this process accepts, on the monotonic clock. */
  lookAt: number | undefined
  /**
   * State that outlives the receiver: the number of its deliveries and dispatched events, whether another service on the store was reported, and
   * the text that tells this receiver from others there.
   */
  readonly told: { used: number; sharing: boolean; self?: string } = { used: 0, sharing: false }

  constructor(settings: ReceiverSettings, reporter: Reporter) {
    this.settings = settings
    this.reporter = reporter
    this.toKey = makeDedupKeys(settings.name)
    this.transact = toTransact(settings.store)
  }
}

/** Returns the outcome of every event of a receiver without handlers. */
export function failWithoutHandlers(
  { reporter }: Shared,
  { id, type, accountKey }: Pick<WebhookEvent, 'id' | 'type' | 'accountKey'>,
): Outcome {
  const error = new PosternError('no_handlers', NO_HANDLERS)
  reporter.errorOnce(error)
  return { outcome: 'error', status: 500, code: 'no_handlers', error, id, type, accountKey }
}
