import type { Secrets } from '../protocol/authenticate.ts'
import type { EventSchemas, OpenData, WebhookEvent } from '../protocol/events.ts'
import type { Outcome } from '../protocol/outcome.ts'
import type { SchemaOutput } from '../protocol/schema.ts'
import type { Store } from '../store/store.ts'
import type { ContextOf, Handler, HandlerContext, HandlerOptions } from './handler.ts'
import type { ReceiverOptions } from './options.ts'
import type { ReceivedDelivery, Receiver } from './receiver.ts'

// The declarations of `postern/senders` import these types from `postern`: each must be an export of it.

/** Returns the secrets of one delivery by the adapter's `source`; nothing means that there are none for it, and the delivery is answered 401. */
type SenderSecrets = (request: {
  readonly source: string | undefined
}) => Secrets | null | undefined | PromiseLike<Secrets | null | undefined>

type NoSchemas = Readonly<Record<never, never>>

/** Options of `receiveFrom`: those of `createReceiver` that are not about records of the CRM service. */
export type SenderReceiverOptions<E = NoSchemas, S extends Store = Store> = {
  /** Schemas of `data`, by event type. The output of a schema replaces the type that the sender has for it. */
  readonly events?: E | undefined
  /** Remembers handled events, for as long as the sender may repeat them. Default: `memoryStore()`, for one process. */
  readonly store?: S | undefined
} & Omit<ReceiverOptions, 'models' | 'events' | 'store' | 'secret' | 'maxAge' | 'signatureHeader' | 'lane'> & {
    /** Returns the lane of an event in the inbox, of which one event is handled at a time; undefined for none. */
    readonly lane?: Exclude<ReceiverOptions['lane'], 'record'>
    /** The secret that the sender signs with: text or bytes, `{ secret, accountKey }` to bind it to one tenant, a list of these, or a function that chooses by source. */
    readonly secret: Secrets | SenderSecrets | undefined
  }

/** Delivery of a sender whose body is in hand already. */
type SenderDelivery = Omit<ReceivedDelivery, 'signature'> & {
  /** All headers of the request: those of Fetch, or of Node by lower-case name. */
  readonly headers: Headers | Readonly<Record<string, ReceivedDelivery['signature']>>
}

/** The types of a sender, with the output of schemas for the types that have one. */
type WithSchemas<Types, E> = [keyof E] extends [never]
  ? Types
  : Omit<Types, keyof E> & { readonly [T in keyof E]: SchemaOutput<E[T]> }

type TypeOf<Types> = keyof Types & string

type PrefixOf<T> = T extends `${infer Head}.${infer Tail}` ? `${Head}.*` | `${Head}.${PrefixOf<Tail>}` : never

/** Patterns of a sender's types: an editor completes these. */
type SenderPattern<Types> = '*' | TypeOf<Types> | PrefixOf<TypeOf<Types>>

/** The event that a handler of a pattern gets. */
export type SenderEvent<Types, P extends string> =
  P extends TypeOf<Types>
    ? WebhookEvent<P, Types[P]>
    : string extends keyof Types
      ? WebhookEvent<string, OpenData>
      : P extends `${infer Head}.*`
        ? EventsBelow<Types, `${Head}.`>[keyof EventsBelow<Types, `${Head}.`>]
        : WebhookEvent<string, unknown>

/** Filters keys by `as`: an intersection of two template types, as open types of GitHub have, is never reduced. */
type EventsBelow<Types, Start extends string> = {
  [T in keyof Types as T extends `${Start}${string}` ? T : never]: WebhookEvent<T & string, Types[T]>
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
export interface SenderReceiver<Types, C extends HandlerContext = HandlerContext>
  extends Omit<Receiver<never, NoSchemas, C>, 'on' | 'receive'> {
  /**
   * Registers a handler for a type (`issues.opened`), for the types that begin alike (`issues.*`), for all (`*`), or for a list of these.
   * Handlers run, and are named, as those of `createReceiver`.
   *
   * @throws ConfigurationError `pattern_invalid`, `handler_invalid`, `handler_unnamed`, `handler_name_clash`, `option_invalid`,
   * `option_unknown`, `registration_frozen`
   */
  on<const P extends SenderPattern<Types> | (string & {})>(
    pattern: (P & CheckPattern<P, Types>) | readonly (P & CheckPattern<P, Types>)[],
    handler: Handler<SenderEvent<Types, P>, C>,
  ): this
  on<const P extends SenderPattern<Types> | (string & {})>(
    pattern: (P & CheckPattern<P, Types>) | readonly (P & CheckPattern<P, Types>)[],
    options: Omit<HandlerOptions, 'order'>,
    handler: Handler<SenderEvent<Types, P>, C>,
  ): this

  /** Handles bytes in hand, without an adapter. Answer the request with `outcome.status`. Never rejects. */
  receive(delivery: SenderDelivery): Promise<Outcome>
}

/** The receiver that `receiveFrom` makes of a sender's types, schemas and store. */
export type ReceiverFrom<Types, E extends EventSchemas, S extends Store> = SenderReceiver<
  WithSchemas<Types, E>,
  ContextOf<S>
>
