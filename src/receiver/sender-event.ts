import type { OpenData, WebhookEvent } from '../protocol/events.ts'
import type { SchemaOutput } from '../protocol/schema.ts'

/** The types of a sender, with the output of schemas for the types that have one. */
export type WithSchemas<Types, E> = [keyof E] extends [never]
  ? Types
  : Omit<Types, keyof E> & { readonly [T in keyof E]: SchemaOutput<E[T]> }

/** The names of the types of a sender. */
export type TypeOf<Types> = keyof Types & string

type PrefixOf<T> = T extends `${infer Head}.${infer Tail}`
  ? `${Head}.*` | `${Head}.${PrefixOf<Tail>}`
  : T extends `${infer Head}/${string}`
    ? `${Head}/*`
    : never

/** Patterns of a sender's types: an editor completes these. */
export type SenderPattern<Types> = '*' | TypeOf<Types> | PrefixOf<TypeOf<Types>>

/** The event that a handler of a pattern gets. */
export type SenderEvent<Types, P extends string> =
  P extends TypeOf<Types>
    ? WebhookEvent<P, Types[P]>
    : string extends keyof Types
      ? WebhookEvent<string, OpenData>
      : P extends `${infer Head}.*`
        ? EventsBelow<Types, `${Head}.`>[keyof EventsBelow<Types, `${Head}.`>]
        : P extends `${infer Head}/*`
          ? EventsBelow<Types, `${Head}/`>[keyof EventsBelow<Types, `${Head}/`>]
          : P extends '*'
            ? WebhookEvent<string, unknown>
            : never

/** Filters keys by `as`: an intersection of two template types, as open types of GitHub have, is never reduced. */
type EventsBelow<Types, Start extends string> = {
  [T in keyof Types as T extends `${Start}${string}` ? T : never]: WebhookEvent<T & string, Types[T]>
}
