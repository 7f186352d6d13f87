import type { WorkOptions } from '../inbox/retries.ts'
import type { WorkedOnce, WorkOnceOptions } from '../inbox/work-once.ts'
import type { PosternError } from '../protocol/errors.ts'
import type { Check, EventOf, NoEvents, OpenModels, Patterns, WebhookEvent } from '../protocol/events.ts'
import type { Outcome, Reply } from '../protocol/outcome.ts'
import type { GivenHead } from '../protocol/protocol.ts'
import type { HeaderValue } from '../protocol/signature.ts'
import type { DeliveryRequest } from './adapter.ts'
import type { Handler, HandlerContext, OptionsOf } from './handler.ts'
import type { Interceptor } from './intercept.ts'
import type { EventTypes } from './routes.ts'

/** The part of a receiver that adapters need, whatever its models are. */
export interface Receives {
  /** The whole path of a delivery: from the head of a request to the answer. Never rejects. Throws if it is given a framework's request. */
  handle(request: DeliveryRequest): Promise<Reply>
  /** Reports what an adapter finds out beside that, for the owner to repair: the first error of a code is logged, each reaches `onError`. */
  report?(error: PosternError): void
}

/** A delivery whose body is in hand already. */
export interface ReceivedDelivery {
  /** The exact bytes of the request's body. */
  readonly body: Uint8Array
  /** The value of the signature header, as the HTTP library returns it. */
  readonly signature: HeaderValue
  /** Which registration or tenant the request is for, by its route. */
  readonly source?: string | undefined
  /** When the request was first seen, in milliseconds since 1970: the deadline counts from then. Default: now. */
  readonly receivedAt?: number | undefined
  /** Keeps a serverless host awake for work that goes on after the answer. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined
}

/** The argument of `receive`: a delivery of the CRM service, or of another sender. */
export type GivenDelivery = Omit<ReceivedDelivery, 'signature'> & GivenHead

/** Options of `receiver.dispatch`. */
export type DispatchOptions = {
  /** Milliseconds to wait for the result; `Infinity` for the consumer of a queue, which acknowledges its message by the outcome. Default: `deadlineMs`. */
  readonly waitMs?: number | undefined
}

/** Runs the events of an inbox. */
export interface ReceiverWorker extends ClosesItself {
  /**
   * Takes nothing more, and waits for what runs. What outlasts `timeoutMs` (default 10,000) is aborted and given back with its finish
   * marks, which does not count as a failed try. For what ignores its abort, it waits as long again, for 1 to 8 s.
   */
  close(options?: { readonly timeoutMs?: number | undefined }): Promise<CloseResult>
}

/**
 * Closes itself at the end of a block: `await using receiver = …`. Written so that it compiles without the library `esnext.disposable`, and
 * is empty then.
 */
type ClosesItself = SymbolConstructor extends { readonly asyncDispose: infer Key extends symbol }
  ? { readonly [K in Key]: () => Promise<void> }
  : object

/** The result of `close`. */
export interface CloseResult {
  /** Events whose handlers were running at `timeoutMs`, or whose result the store had not taken. Both go on while the process lives. */
  readonly unfinished: number
}

/** Verifies, deduplicates and routes deliveries. Register every handler before the first delivery, then mount it with an adapter. */
export interface Receiver<M = OpenModels, E = NoEvents, C extends HandlerContext = HandlerContext>
  extends Receives,
    ClosesItself {
  /**
   * Registers a handler for a pattern: a type (`contact.created`), a model (`contact.*`), an action (`*.deleted`), or `*`, or for a list of
   * patterns. All handlers of an event run concurrently, each with a copy of the event. Each keeps its own finish mark under its name, so
   * that a retry runs those that did not finish. The name is the pattern, or the sorted list joined by commas: a second handler of one
   * pattern, and a list that may change, need a `name`.
   *
   * @throws ConfigurationError `pattern_invalid`, `handler_invalid`, `handler_unnamed`, `handler_name_clash`, `option_invalid`,
   * `option_unknown`, `registration_frozen`
   */
  on<const P extends Patterns<M, E>>(pattern: P & Check<P, M, E>, handler: Handler<EventOf<M, P, E>, C>): this
  on<const P extends Patterns<M, E>>(
    pattern: P & Check<P, M, E>,
    options: OptionsOf<P, E>,
    handler: Handler<EventOf<M, P, E>, C>,
  ): this

  /**
   * Wraps every run of a handler, for tracing or recording; the first one registered is the outermost. A handler has finished if both
   * its own run and the interceptors succeeded.
   *
   * @throws ConfigurationError `handler_invalid`, `registration_frozen`
   */
  intercept(interceptor: Interceptor): this

  /** Handles bytes in hand, without an adapter. Answer the request with `outcome.status`. Never rejects. */
  receive(delivery: ReceivedDelivery): Promise<Outcome>

  /**
   * Handles an event that was verified before: a message of a queue, an event of a unit test. Deduplication, schemas and handlers
   * are the same as for a delivery; nothing about the sender is checked.
   *
   * @throws PosternError `event_invalid`, `dispatch_within`, and ConfigurationError `option_invalid`, all by rejecting
   */
  dispatch(event: WebhookEvent<string, unknown>, options?: DispatchOptions): Promise<Outcome>

  /**
   * Makes the store forget an event, so that its next delivery, `dispatch` or try runs every handler again: after one was repaired that had
   * done the wrong thing. Returns false if the store does not know the event, or if it is being handled now.
   *
   * @throws ConfigurationError `option_invalid`, also for a store without `forget`; PosternError `store_unavailable`; all by rejecting
   * @example
   * await receiver.forget({ accountKey: 'acme', id: 'evt_1' })
   */
  forget(event: Pick<WebhookEvent, 'accountKey' | 'id'>): Promise<boolean>

  /**
   * Runs handlers for what the inbox holds, here or in processes of their own which are made of the same module. An event that fails is
   * tried again by a schedule of the worker's, and becomes a dead letter when that is over.
   *
   * @throws ConfigurationError `no_inbox`, `option_invalid`, `option_unknown`
   */
  work(options?: WorkOptions): ReceiverWorker

  /**
   * Runs handlers for what is due in the inbox, for hosts that freeze or end a process after its answer: a cron job or a trigger calls it and
   * awaits it. Several at the same time do no harm; in one process they run one after the other.
   *
   * @throws ConfigurationError `no_inbox`, `option_invalid`, `option_unknown`; PosternError `inbox_unavailable`; all by rejecting
   * @example
   * const { left } = await receiver.workOnce({ forMs: 90_000 })
   */
  workOnce(options: WorkOnceOptions): Promise<WorkedOnce>

  /** Returns what this receiver handles, to be named in a webhook's `events`. */
  eventTypes(): EventTypes

  /** Answers new deliveries with 503, closes its worker, and resolves when those under way are answered, or after `timeoutMs` (default 10,000). */
  close(options?: { readonly timeoutMs?: number | undefined }): Promise<CloseResult>
}
