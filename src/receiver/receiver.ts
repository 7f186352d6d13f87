import type { Check, EventOf, NoEvents, OpenModels, Pattern, WebhookEvent } from '../protocol/events.ts'
import type { Outcome } from '../protocol/outcome.ts'
import type { HeaderValue } from '../protocol/signature.ts'
import type { Handler, HandlerContext, HandlerOptions } from './handler.ts'
import type { DeliveryRequest, Receives } from './receives.ts'
import type { Reply } from './reply.ts'
import type { EventTypes, Interceptor } from './routes.ts'

/** A delivery whose body is in hand already. */
export interface ReceivedDelivery {
  /** The exact bytes of the request's body. */
  readonly body: Uint8Array
  /** The value of `X-Service-Signature`, as the HTTP library gives it. */
  readonly signature: HeaderValue
  /** Which registration or tenant the request is for, by its route. */
  readonly source?: string | undefined
  /** When the request was first seen, in milliseconds since 1970: the deadline counts from then. Default: now. */
  readonly receivedAt?: number
  /** Keeps a serverless host awake for work that goes on after the answer. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined
}

/** What `close` leaves behind. */
export interface CloseResult {
  /** Events whose handlers were still running at `timeoutMs`. They go on, and keep their claims, while the process lives. */
  readonly unfinished: number
}

/**
 * Verifies, deduplicates and routes deliveries. Register every handler before the first delivery, then mount it with an adapter.
 */
export interface Receiver<M = OpenModels, E = NoEvents, C extends HandlerContext = HandlerContext> extends Receives {
  /**
   * Registers a handler for a pattern: a type (`contact.created`), a model (`contact.*`), an action (`*.deleted`), or `*`. All
   * handlers of an event run together, and each keeps its own finish mark: a retry runs those that did not finish.
   *
   * @throws ConfigurationError `pattern_invalid`, `handler_invalid`, `handler_name_clash`, `option_unknown`, `registration_frozen`
   */
  on<const P extends Pattern<M, E> | (string & {})>(
    pattern: P & Check<P, M, E>,
    handler: Handler<EventOf<M, P, E>, C>,
  ): this
  on<const P extends Pattern<M, E> | (string & {})>(
    pattern: P & Check<P, M, E>,
    options: HandlerOptions,
    handler: Handler<EventOf<M, P, E>, C>,
  ): this

  /**
   * Wraps every run of a handler, for tracing or recording; the first one registered is the outermost. What the interceptor
   * returns or throws counts as the handler's own.
   *
   * @throws ConfigurationError `handler_invalid`, `registration_frozen`
   */
  intercept(interceptor: Interceptor): this

  /** The whole path of a delivery, for adapters: from the head of a request to the answer. Never rejects. */
  handle(request: DeliveryRequest): Promise<Reply>

  /** For bytes in hand, without an adapter. Answer the request with `outcome.status`. Never rejects. */
  receive(delivery: ReceivedDelivery): Promise<Outcome>

  /**
   * Handles an event that was verified before: a message of a queue, an event of a unit test. Deduplication, schemas and handlers
   * are the same as for a delivery; nothing about the sender is checked.
   *
   * @throws PosternError `event_invalid`, by rejecting
   */
  dispatch(event: WebhookEvent<string, unknown>): Promise<Outcome>

  /** What this receiver handles, to be named in a webhook's `events`. */
  eventTypes(): EventTypes

  /** Answers new deliveries with 503 and waits for those under way, `timeoutMs` (default 10,000) at most. */
  close(options?: { readonly timeoutMs?: number }): Promise<CloseResult>
}
