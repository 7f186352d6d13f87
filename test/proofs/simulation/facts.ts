import type { Outcome } from 'postern'
import type { EventPlan, HandlerPlan, IntruderPlan } from './plan.ts'

/** One process from its start to its end. */
export interface LifeFacts {
  /** As `p1.2`: the second life of process 1. */
  readonly name: string
  readonly process: number
  /** The handlers of the code that it runs. */
  readonly handlers: readonly HandlerPlan[]
  /** The total time in milliseconds for which its event loop was stalled so far. */
  readonly stalledMs: number
  /** The times at which the runs of its worker are aborted, one for each time that it is closed. */
  readonly workAborts: readonly number[]
  death: Death | undefined
}

/** The end of a process. `isOrderly`: by itself, after `close()` had promised that nothing was unfinished. */
export interface Death {
  readonly at: number
  readonly isOrderly: boolean
}

/** A claim that the engine granted, and its outcome. */
export interface Grant {
  readonly token: string
  readonly key: string
  readonly event: EventPlan
  readonly life: LifeFacts
  readonly askedAt: number
  readonly grantedAt: number
  /** The finish marks that the engine had then. */
  readonly marks: ReadonlySet<string>
  /** The time at which the answer reached the process; undefined as long as it did not. */
  answeredAt: number | undefined
  /** True if it was granted to the echo of a call that had another answer: its process cannot know of it. */
  isEcho: boolean
  endsAt: number
  /** The time at which the engine first carried out `complete` or `release`. */
  settledAt: number | undefined
  /** The time at which the receiver reported that it had given up handlers of this claim which had not finished. */
  abandonedAt: number | undefined
}

/** One run of one handler. */
export interface HandlerRun {
  readonly event: EventPlan
  readonly handler: string
  /** Counted from 0 for each handler of an event. */
  readonly number: number
  readonly life: LifeFacts
  /** The claim that it runs under. */
  readonly grant: Grant | undefined
  readonly beganAt: number
  endedAt: number | undefined
  /** The time at which it succeeded, or its transaction was committed. */
  completedAt: number | undefined
  waitsForAbort: boolean
  /** The wish of its error for the event, if it has one. */
  wish: 'bury' | { readonly afterMs: number } | undefined
  /** Its transaction was committed, and the handler got another answer. */
  isUnsure: boolean
  /** Its handler returned without waiting for its transaction: the receiver waits for that. */
  isLeftToTransaction: boolean
  /** The total time for which its process had been stalled before. */
  readonly stalledMs: number
}

/** One delivery that reached a process. */
export interface DeliveryFacts {
  readonly what: EventPlan | IntruderPlan
  readonly isIntruder: boolean
  readonly life: LifeFacts
  readonly receivedAt: number
  answer: { readonly at: number; readonly outcome: Outcome } | undefined
}

/** A time during which a process could not reach the engine, or could not run. */
export interface Disturbance {
  /** Undefined if it affects every process. */
  readonly process: number | undefined
  readonly from: number
  readonly to: number
  readonly isStall: boolean
}
