import type { Clock } from '../host/clock.ts'
import { TimerQueue } from '../host/timer-queue.ts'
import { type Transact, toTransact } from '../store/transactional-store.ts'
import type { Settings } from './options.ts'
import type { Reporter } from './reporter.ts'

/** The parts that all deliveries and runs of one receiver share. */
export class Shared {
  readonly settings: Settings
  readonly reporter: Reporter
  readonly activity = new Activity()
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
  isClosing = false

  constructor(settings: Settings, reporter: Reporter) {
    this.settings = settings
    this.reporter = reporter
    this.transact = toTransact(settings.store)
    this.bodyTimers = new TimerQueue(settings.clock)
    this.answerTimers = new TimerQueue(settings.clock)
    this.storeTimers = new TimerQueue(settings.clock)
    this.renewalTimers = new TimerQueue(settings.clock)
    this.handlerTimers = new TimerQueue(settings.clock)
  }
}

/** Timers that are set for longer go off immediately. */
const LONGEST_TIMER_MS = 2_147_483_647
/** The time that a host has to write an answer, if its adapter cannot tell when it has. */
const UNSEEN_ANSWER_MS = 50

/** Counts what `close` waits for: requests without an answer, running events, calls of the store that nobody else waits for. */
class Activity {
  /** Releases that the store has not taken yet. */
  untaken = 0
  #count = 0
  #hasUnseen = false
  #onIdle: (() => void)[] = []

  begin(): void {
    this.#count++
  }

  /** A property, so that it can be passed as a callback. */
  readonly end = (): void => {
    if (--this.#count > 0) return
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  /** Ends a request whose answer the host writes unseen. */
  endUnseen(): void {
    this.#hasUnseen = true
    this.end()
  }

  /** Waits until all has ended and every answer is written, `timeoutMs` at most. */
  async drain(clock: Clock, timeoutMs: number): Promise<void> {
    if (this.#count > 0)
      await new Promise<void>((resolve) => {
        const timer = clock.setTimeout(resolve, Math.min(timeoutMs, LONGEST_TIMER_MS))
        this.#onIdle.push(() => {
          clock.clearTimeout(timer)
          resolve()
        })
      })
    // What the host still has to do takes real time, whatever the clock of the receiver says.
    if (this.#hasUnseen) await new Promise((resolve) => setTimeout(resolve, UNSEEN_ANSWER_MS))
  }
}
