import type { Outcome } from 'postern'
import type { EventPlan, HandlerPlan, IntruderPlan } from './plan.ts'

/** One process from its start to its end. */
export interface LifeFacts {
  /** As `p1.2`: the second life of process 1. */
  readonly name: string
  readonly process: number
  /** The handlers of the code that it runs. */
  readonly handlers: readonly HandlerPlan[]
  /** How many milliseconds its event loop stood still so far. */
  readonly stalledMs: number
  /** When what its worker runs is aborted, once for each time that it is closed. */
  readonly workAborts: readonly number[]
  death: Death | undefined
}

/** How a process ended. `isOrderly`: by itself, after `close()` had promised that nothing was unfinished. */
export interface Death {
  readonly at: number
  readonly isOrderly: boolean
}

/** A claim that the engine granted, and what became of it. */
export interface Grant {
  readonly token: string
  readonly key: string
  readonly event: EventPlan
  readonly life: LifeFacts
  readonly askedAt: number
  readonly grantedAt: number
  /** The finish marks that the engine knew then. */
  readonly marks: ReadonlySet<string>
  /** When the answer reached the process; undefined as long as it did not. */
  answeredAt: number | undefined
  /** Whether it was granted to the echo of a call that had been answered otherwise: its process cannot know of it. */
  isEcho: boolean
  endsAt: number
  /** When the engine first carried out `complete` or `release`. */
  settledAt: number | undefined
  /** When the receiver said that it had given up handlers of this claim which had not finished. */
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
  /** When it succeeded, or its transaction was committed. */
  completedAt: number | undefined
  waitsForAbort: boolean
  /** How it wants its event to go on, if it failed with such a wish. */
  wish: 'bury' | { readonly afterMs: number } | undefined
  /** Its transaction was committed, and the handler was told otherwise. */
  isUnsure: boolean
  /** Its handler returned without waiting for its transaction: the receiver waits for that. */
  isLeftToTransaction: boolean
  /** For how long its process had stood still before, in all. */
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
  /** Undefined: of every process. */
  readonly process: number | undefined
  readonly from: number
  readonly to: number
  readonly isStall: boolean
}
