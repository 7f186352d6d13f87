import type { Action } from '../protocol/events.ts'
import type { SyncTransactionalStore, TransactionalStore } from '../store/transactional-store.ts'

/** The second argument of a handler. */
export interface HandlerContext {
  /**
   * Aborts at `handlerTimeoutMs`, or when another process has taken over the event: `signal.reason` is an error with the code
   * `handler_timeout`, `lease_lost` or, if its worker was closed, `worker_closed`. Hand it to fetch and database calls. It does not abort at the deadline of the delivery:
   * a handler that ends a little late has finished, and the next attempt is answered immediately.
   */
  readonly signal: AbortSignal
  /** This handler's name: its pattern, or the name it was given. Its finish mark stands under it. */
  readonly handlerName: string
  /** The registration or tenant that the request was for, if the adapter has a `source` option. */
  readonly source: string | undefined
  /**
   * With an inbox: the number of this try, from 1, counted as by `receiver.work({ attempts })`; `isLast` is true if the event becomes a dead
   * letter when this try fails. A replay counts from 1 again. Without an inbox, `number` is 1 and `isLast` undefined: the service does not
   * say which of its attempts a delivery is.
   */
  readonly attempt: { readonly number: number; readonly isLast: boolean | undefined }
  /** When the event was received, in milliseconds since 1970: with an inbox for the first time, otherwise in this delivery. */
  readonly receivedAt: number
  /** The body exactly as it was signed, as text. Undefined if the event was given to `dispatch`. */
  readonly rawBody: string | undefined
}

/** The context of a handler if the store has transactions. */
export interface TransactionContext<Tx> extends HandlerContext {
  /**
   * Runs `work` in a transaction of the store's database, and commits what it writes together with this handler's finish mark: after
   * a crash at any moment there are both or neither, so the effect of `work` happens exactly once. It is the handler's last step:
   * once it is committed the handler counts as finished, and if it fails the handler fails, also if it catches the error.
   *
   * @returns what `work` returns
   * @throws PosternError `lease_lost` if another process took over the event, and `transaction_misused` for a second call, or one
   * after the handler has ended; both by rejecting
   */
  readonly transaction: <T>(work: (tx: Tx) => T | PromiseLike<T>) => Promise<T>
}

/** The context of a handler on a database whose driver blocks: `work` must not wait for anything. */
export interface SyncTransactionContext<Tx> extends HandlerContext {
  /** As in {@link TransactionContext}, but `work` must not be asynchronous: that is a compile error, and `transaction_misused`. */
  readonly transaction: <T>(work: (tx: Tx) => T extends PromiseLike<unknown> ? NeverAsync : T) => Promise<T>
}

/** The compile error for `work` that returns a promise. */
type NeverAsync = {
  readonly 'work must not be asynchronous': never
}

/** The context of the handlers of a receiver on the store `S`. */
export type ContextOf<S> =
  S extends TransactionalStore<infer Tx>
    ? TransactionContext<Tx>
    : S extends SyncTransactionalStore<infer Tx>
      ? SyncTransactionContext<Tx>
      : HandlerContext

/**
 * Handles one event. The event counts as handled once the promise it returns is fulfilled. A throw or a rejection, of anything,
 * makes the service try again later, and then only the handlers that did not finish run.
 */
export type Handler<Event, Context extends HandlerContext = HandlerContext> = (
  event: Event,
  context: Context,
) => unknown

/** Options of `.on()` for one handler. */
export interface HandlerOptions {
  /**
   * `latest` skips an event whose `timestamp` is older than that of the latest event of its record that the handler completed. Only for
   * events about records, on a store that keeps positions; events of other types, which `*` takes as well, are never skipped. See docs/guides/order.md.
   */
  readonly order?: 'latest' | undefined
  /**
   * The handler's name, unique among handlers that can run for one event. Default: its pattern. The store keeps finish marks under this
   * name: name a handler whose pattern may change, or which is not the only one of its pattern.
   */
  readonly name?: string | undefined
}

/** The options of a handler. For a pattern of events that are about no record, `order` is a compile error. */
export type OptionsOf<P extends string | readonly string[], E> =
  true extends IsUnordered<P, E> ? Unordered : HandlerOptions

type IsUnordered<P, E> = P extends readonly (infer One)[]
  ? IsUnordered<One, E>
  : P extends keyof E
    ? true
    : P extends `${string}.${Action | '*'}` | '*'
      ? false
      : true

/** Options of a handler of events that are about no record. */
type Unordered = Omit<HandlerOptions, 'order'> & {
  readonly order?: NoRecord | undefined
}

/** The compile error for an order of events that are about no record. */
type NoRecord = {
  readonly 'order needs a pattern of events about records': never
}
