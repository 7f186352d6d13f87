/** What a seed draws for receivers with an inbox, beside the rest of its plan. */
export interface InboxPlan {
  /** One for each process. */
  readonly roles: readonly Role[]
  readonly work: WorkPlan
  readonly acts: readonly InboxAct[]
}

/** Whether a process takes deliveries in, runs what the inbox holds, or does both. */
export type Role = 'accepts' | 'works' | 'does both'

/** Options of `receiver.work`. */
export interface WorkPlan {
  readonly concurrency: number
  readonly attempts: number
  /** Before the second try, the third and so on. Undefined leaves the default, a tenth more or less. */
  readonly delaysMs: readonly number[] | undefined
}

/** What an operator, or the app itself, does at some time. */
export type InboxAct =
  | { readonly kind: 'replay' | 'drop'; readonly at: number; readonly event: number }
  | { readonly kind: 'replay all'; readonly at: number }
  | {
      readonly kind: 'close worker'
      readonly at: number
      readonly process: number
      readonly timeoutMs: number
      /** When its receiver begins to work again. */
      readonly againMs: number
    }
  | { readonly kind: 'wall clock'; readonly at: number; readonly process: number; readonly byMs: number }
