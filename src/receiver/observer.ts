import type { Inbox, InboxItem, Settlement, TakenItem } from '../inbox/inbox.ts'
import type { Outcome } from '../protocol/outcome.ts'
import type { OutcomeInfo } from './options.ts'

/** Watches a receiver, for traces and metrics. It is trusted: it never throws, changes nothing, and runs what it is given exactly once. */
export interface Observer {
  /** Called before a delivery, an event that is passed to `dispatch`, or a worker's try of an item begins. */
  begin(work: 'delivery' | 'dispatch' | TakenItem): Watch | undefined
  /** Called once the settlement of a try is on disk. */
  onSettled(item: TakenItem, settlement: Settlement): void
  /** Called with an item that another worker took while it ran here: this process stood still for longer than the lease. */
  onStalled(item: TakenItem): void
  /** Called when another observer takes its place. That is an error unless a development server loaded a module again. */
  onReplaced(): void
}

/** One delivery, event or try under watch. */
export interface Watch {
  /** Calls `work`, and returns its result. All that is done from then on is done within that call, or follows from it. */
  with<T>(work: () => T): T
  /** Calls `put` with the trace that the item is to carry, and returns its result. */
  put<T>(item: InboxItem, put: (trace: InboxItem['trace']) => T): T
  /** Called with the outcome, and once more with `late: true` if work ended after its answer. */
  onOutcome(outcome: Outcome, info: OutcomeInfo): void
}

/** A receiver as its observer sees it. */
export interface ReceiverView {
  readonly name: string
  readonly inbox: Inbox | undefined
  /** Events whose handlers run in this process, from the claim to the settling. */
  readonly inFlight: number
  /** Ends the observation. Another observer may follow. */
  stop(): void
}

/** Key of the method by which a receiver takes an observer. It is no user's business, and `postern/otel` is a separate file of the package. */
export const OBSERVE: unique symbol = Symbol.for('postern.observe')

/** A receiver that can be observed: each that `createReceiver` returns. */
export interface Observable {
  /** @throws ConfigurationError `option_invalid` if there is an observer already */
  [OBSERVE](observer: Observer): ReceiverView
}
