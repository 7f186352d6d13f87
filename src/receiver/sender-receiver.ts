import type { Secrets } from '../protocol/authenticate.ts'
import type { NoEvents } from '../protocol/events.ts'
import type { Outcome } from '../protocol/outcome.ts'
import type { Store } from '../store/store.ts'
import type { Handler, HandlerContext, HandlerOptions } from './handler.ts'
import type { OtherOptions } from './options.ts'
import type { ReceivedDelivery, Receiver } from './receiver.ts'
import type { SenderEvent, SenderPattern, TypeOf, WithSchemas } from './sender-event.ts'

/** Returns the secrets of one delivery by the adapter's `source`; nothing means that there are none for it, and the delivery is answered 401. */
type SenderSecrets = (request: {
  readonly source: string | undefined
}) => Secrets | null | undefined | PromiseLike<Secrets | null | undefined>

/** Options of `receiveFrom`: those of `createReceiver` that are not about records of the CRM service. */
export type SenderReceiverOptions<E = NoEvents, S extends Store = Store> = {
  /** Schemas of `data`, by event type. The output of a schema replaces the type that the sender has for it. */
  readonly events?: E | undefined
  /** Remembers handled events, for as long as the sender may repeat them. Default: `memoryStore()`, for one process. */
  readonly store?: S | undefined
} & Omit<OtherOptions, 'secret' | 'maxAge' | 'signatureHeader' | 'lane'> & {
    /** Returns the lane of an event in the inbox, of which one event is handled at a time; undefined for none. */
    readonly lane?: Exclude<OtherOptions['lane'], 'record'>
    /** The secret that the sender signs with: text or bytes, `{ secret, accountKey }` to bind it to one tenant, a list of these, or a function that chooses by source. */
    readonly secret: Secrets | SenderSecrets | undefined
  }

/** Delivery of a sender whose body is in hand already. */
type SenderDelivery = Omit<ReceivedDelivery, 'signature'> & {
  /** All headers of the request: those of Fetch, or of Node by lower-case name. */
  readonly headers: Headers | Readonly<Record<string, ReceivedDelivery['signature']>>
}

/** P itself for a pattern that can match, else an error that names the types with the same first word, or the first words. */
type CheckPattern<P extends string, Types> = string extends keyof Types
  ? P
  : P extends SenderPattern<Types>
    ? P
    : NoSuchType<
        P extends `${infer Word}.${string}`
          ? OrWords<Extract<TypeOf<Types>, `${Word}.${string}`>, Types>
          : OrWords<never, Types>
      >

type OrWords<Found, Types> = [Found] extends [never] ? FirstWord<TypeOf<Types>> : Found
type FirstWord<T> = T extends `${infer Word}.${string}` ? `${Word}.*` : T

/** The compile error for a pattern that no type of the sender matches. */
type NoSuchType<Likely> = { readonly 'types of this sender': Likely }

/** Verifies, deduplicates and routes the webhooks of a sender other than the CRM service. Made by `receiveFrom`. */
export interface SenderReceiver<Types, E = NoEvents, C extends HandlerContext = HandlerContext>
  extends Omit<Receiver<never, NoEvents, C>, 'on' | 'receive'> {
  /**
   * Registers a handler for a type (`issues.opened`), for the types that begin alike (`issues.*`), for all (`*`), or for a list of these.
   * Handlers run, and are named, as those of `createReceiver`.
   *
   * @throws ConfigurationError `pattern_invalid`, `handler_invalid`, `handler_unnamed`, `handler_name_clash`, `option_invalid`,
   * `option_unknown`, `registration_frozen`
   */
  on<const P extends SenderPattern<WithSchemas<Types, E>> | (string & {})>(
    pattern: CheckPattern<P, WithSchemas<Types, E>> | readonly CheckPattern<P, WithSchemas<Types, E>>[],
    handler: Handler<SenderEvent<WithSchemas<Types, E>, P>, C>,
  ): this
  on<const P extends SenderPattern<WithSchemas<Types, E>> | (string & {})>(
    pattern: CheckPattern<P, WithSchemas<Types, E>> | readonly CheckPattern<P, WithSchemas<Types, E>>[],
    options: Omit<HandlerOptions, 'order'>,
    handler: Handler<SenderEvent<WithSchemas<Types, E>, P>, C>,
  ): this

  /** Handles bytes in hand, without an adapter. Answer the request with `outcome.status`. Never rejects. */
  receive(delivery: SenderDelivery): Promise<Outcome>
}
