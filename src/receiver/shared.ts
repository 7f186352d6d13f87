import { Activity } from '../host/activity.ts'
import { TimerQueue } from '../host/timer-queue.ts'
import { makeDedupKeys } from '../protocol/dedup-key.ts'
import { type Transact, toTransact } from '../store/transactional-store.ts'
import type { Settings } from './options.ts'
import type { Reporter } from './reporter.ts'

/** Handlers and hooks that begin events within each other on one stack, which takes some 500 of them. */
const MOST_NESTED = 32

/** The parts that all deliveries and runs of one receiver share. */
export class Shared {
  readonly settings: Settings
  readonly reporter: Reporter
  readonly activity = new Activity()
  /** Makes the keys by which events are deduplicated. */
  readonly toKey: (accountKey: string, id: string) => string
  /** Undefined if the store has no transactions. */
  readonly transact: Transact | undefined
  /** The waits that most deliveries have. Timers of one queue are of about the same length, which makes them cheap. */
  readonly bodyTimers: TimerQueue
  readonly answerTimers: TimerQueue
  readonly storeTimers: TimerQueue
  readonly renewalTimers: TimerQueue
  readonly handlerTimers: TimerQueue
  /** The runs whose handlers are being begun, the innermost last: what is called meanwhile is called by them. */
  readonly beginning: { readonly key: string }[] = []
  /** Events whose marks the store has not taken yet, at the end of an attempt. */
  untakenMarks = 0
  isClosing = false

  /** True if work that begins now has to wait until the stack is empty. */
  get isNestedDeep(): boolean {
    return this.beginning.length + this.reporter.hooksRunning > MOST_NESTED
  }

  constructor(settings: Settings, reporter: Reporter) {
    this.settings = settings
    this.reporter = reporter
    this.toKey = makeDedupKeys(settings.name)
    this.transact = toTransact(settings.store)
    this.bodyTimers = new TimerQueue(settings.clock)
    this.answerTimers = new TimerQueue(settings.clock)
    this.storeTimers = new TimerQueue(settings.clock)
    this.renewalTimers = new TimerQueue(settings.clock)
    this.handlerTimers = new TimerQueue(settings.clock)
  }
}
