/** The part of a seed's plan for receivers with an inbox. */
export interface InboxPlan {
  /** One for each process. */
  readonly roles: readonly Role[]
  readonly work: WorkPlan
  /** Set if the hosts freeze between calls of `workOnce`. */
  readonly once?: OncePlan
  readonly acts: readonly InboxAct[]
}

/** The role of a process: it accepts deliveries, runs the inbox's items, or does both. */
export type Role = 'accepts' | 'works' | 'does both'

/** Options of `receiver.work`. */
export interface WorkPlan {
  readonly concurrency: number
  readonly attempts: number
  /** The delay before the second try, the third and so on. Undefined leaves the default, a tenth more or less. */
  readonly delaysMs: readonly number[] | undefined
}

/** Options of `receiver.workOnce`, and how long the trigger waits once something is due. */
export interface OncePlan {
  readonly forMs: number
  readonly max: number | undefined
  readonly pauseMs: number
}

/** An act of an operator, or of the app itself, at some time. */
export type InboxAct =
  | { readonly kind: 'replay' | 'drop'; readonly at: number; readonly event: number }
  | { readonly kind: 'replay all'; readonly at: number }
  | {
      readonly kind: 'close worker'
      readonly at: number
      readonly process: number
      readonly timeoutMs: number
      /** The time at which its receiver begins to work again. */
      readonly againMs: number
    }
  | { readonly kind: 'wall clock'; readonly at: number; readonly process: number; readonly byMs: number }
