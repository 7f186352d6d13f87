import type { SchemaOutput, StandardSchema } from './schema.ts'

/** A change of a record. Service text, section 6. */
export type Action = 'created' | 'updated' | 'deleted'

/** Event types that the service names beside `{model}.{action}`. Service text, section 6. */
export type ServiceEventType =
  | 'finance.payment.completed'
  | 'finance.payment.failed'
  | 'sync.completed'
  | 'sync.failed'
  | 'import.completed'
  | 'export.completed'

/** Every change of a record. */
export const ACTIONS: readonly Action[] = ['created', 'updated', 'deleted']

/** The types that the service names beside `{model}.{action}`. Service text, section 6. */
export const SERVICE_EVENT_TYPES: readonly ServiceEventType[] = [
  'finance.payment.completed',
  'finance.payment.failed',
  'sync.completed',
  'sync.failed',
  'import.completed',
  'export.completed',
]

/** Models that the service names. There may be others. */
export const NAMED_MODELS: readonly string[] = ['contact', 'opportunity', 'financeInvoice']

/** Types that the service names. Others differ from them by more than a letter. */
export const NAMED_TYPES: readonly string[] = [
  'invoice.paid',
  ...SERVICE_EVENT_TYPES,
  ...NAMED_MODELS.flatMap((model) => ACTIONS.map((action) => `${model}.${action}`)),
]

/** Returns the model that the service names and spells in other letters, such as `contact` for `Contact`. */
export function findSpelling(model: string): string | undefined {
  return NAMED_MODELS.find((named) => named !== model && named.toLowerCase() === model.toLowerCase())
}

/** Returns true for a key that a model may have, though it is not declared. */
export function mayBeModel(key: string): boolean {
  return !/[*\s\p{C}]/u.test(key) && findSpelling(key) === undefined
}

/** Model and action of an event type that is about a record: one dot, and one of the three actions behind it. */
export function splitType(type: string): { readonly model: string; readonly action: Action } | undefined {
  const dot = type.indexOf('.')
  const action = ACTIONS.find((candidate) => candidate === type.slice(dot + 1))
  return dot > 0 && action !== undefined ? { model: type.slice(0, dot), action } : undefined
}

/** Data whose fields the service does not describe. */
export interface OpenData {
  readonly [field: string]: unknown
}

/** A record whose model has no schema: `_id` is certain, everything else is to be checked. */
export interface OpenRecord {
  readonly _id: string
  readonly [field: string]: unknown
}

/** All that is left of a deleted record. */
export interface DeletedRecord {
  readonly _id: string
}

/** A verified event: the envelope of section 2.4 of the service text. Further fields that the sender adds are kept at run time. */
export interface WebhookEvent<Type extends string = string, Data = OpenData> {
  /** Unique for the event; the same in every attempt and every manual retry. */
  readonly id: string
  readonly type: Type
  /** When the event occurred, ISO 8601, as sent. It is not the time of the delivery attempt, which nothing signs. */
  readonly timestamp: string
  /** The tenant account that the event belongs to. */
  readonly accountKey: string
  readonly data: Data
}

/** An event about a record. `model` and `action` are read from the type, so that wildcard handlers need not split it. */
export interface ModelEvent<Model extends string = string, A extends Action = Action, R = OpenRecord>
  extends WebhookEvent<`${Model}.${A}`, { readonly record: R }> {
  readonly model: Model
  readonly action: A
}

/** Any event, for a `*` handler. `model` and `action` are those of an event about a record. `data` is unknown if the receiver has an `events` option. */
export interface AnyEvent<Data = OpenData> extends WebhookEvent<string, Data> {
  readonly model?: string | undefined
  readonly action?: Action | undefined
}

// Written out, not as Readonly<Record<…>>: the compiler shows an alias of an alias by the inner one.

/** Model keys with the schema of their records. */
export type ModelSchemas = { readonly [model: string]: StandardSchema }

/** Further event types with the schema of their `data`. */
export type EventSchemas = { readonly [type: string]: StandardSchema }

/** The models of a receiver that declares none: every model key is taken, with an open record. */
export type OpenModels = { readonly [model: string]: StandardSchema<unknown, OpenRecord> }

/** No further event types. */
export type NoEvents = { readonly [type in never]: StandardSchema }

/** The patterns that can be registered: an editor completes these. */
export type Pattern<M, E> =
  | '*'
  | `*.${Action}`
  | ServiceEventType
  | `${keyof M & string}.${Action | '*'}`
  | (keyof E & string)

/** Pattern, or list of patterns, for `.on()`. */
export type Patterns<M, E> = OnePattern<M, E> | readonly OnePattern<M, E>[]

type OnePattern<M, E> = Pattern<M, E> | (string & {})

/**
 * The event that a handler of one pattern gets. For handlers that live in other files:
 * `async function welcome(event: EventOf<typeof models, 'contact.created'>) {}`
 *
 * It is computed from the one literal that is written: a union over all models would cost the compiler minutes at 300 models.
 */
export type EventOf<
  M,
  P extends string | readonly string[],
  E = NoEvents,
> = P extends `${infer Model}.${infer A extends Action}`
  ? ModelEvent<Model extends '*' ? string : Model, A, A extends 'deleted' ? DeletedRecord : RecordOf<M, Model>>
  : P extends '*'
    ? AnyEvent<[keyof E] extends [never] ? OpenData : unknown>
    : P extends keyof E
      ? WebhookEvent<P & string, SchemaOutput<E[P]>>
      : P extends ServiceEventType
        ? WebhookEvent<P>
        : P extends `${infer Model}.*`
          ?
              | ModelEvent<Model, 'created', RecordOf<M, Model>>
              | ModelEvent<Model, 'updated', RecordOf<M, Model>>
              | ModelEvent<Model, 'deleted', DeletedRecord>
          : P extends readonly (infer One extends string)[]
            ? EventOf<M, One, E>
            : never

/** The look-up of `SchemaOutput`, written out for the compiler. `*` stands for the output of any schema, which need not even be an object. */
type RecordOf<M, Model> = Model extends keyof M
  ? M[Model] extends StandardSchema<unknown, infer Output>
    ? Output
    : unknown
  : Model extends '*'
    ? unknown
    : OpenRecord

/** The compile error for a pattern that can never match: it names the legal patterns with the same action or model. */
type NoSuchPattern<Legal extends string> = {
  readonly 'legal patterns': Legal
}

/** P itself for a legal pattern or list of patterns, so that `P & Check<P>` is P as well; else an error that names what was probably meant. */
export type Check<P extends string | readonly string[], M, E> = P extends `${infer Model}.${infer A extends Action}`
  ? Model extends NoModel
    ? P extends `*.${Action}`
      ? P
      : NoSuchPattern<SameAction<A, M>>
    : Model extends keyof M
      ? P
      : NoSuchPattern<SameAction<A, M>>
  : P extends '*' | ServiceEventType | keyof E
    ? P
    : P extends readonly string[]
      ? CheckList<P, M, E>
      : P extends `${infer Model}.*`
        ? CheckAll<P, Model, M>
        : P extends `${infer Word}.${string}`
          ? NoSuchPattern<OrElse<SameStart<Word, M, E>, ServiceEventType | (keyof E & string)>>
          : P extends Action
            ? NoSuchPattern<SameAction<P & string, M>>
            : NoSuchPattern<
                OrElse<
                  SameModel<P & string, M>,
                  '*' | ServiceEventType | (keyof E & string) | `${keyof M & string}.${Action | '*'}`
                >
              >

/** The compile error for an empty list of patterns. */
type NoPattern = {
  readonly 'at least one pattern': never
}

/** The check of each pattern of a list. */
type CheckList<P extends readonly string[], M, E> = P extends readonly []
  ? NoPattern
  : { readonly [Index in keyof P]: Check<P[Index], M, E> }

/** The check of all actions of a model. `finance.*` reads as a wildcard over event types of the service, and is none. */
type CheckAll<P, Model, M> = Model extends NoModel
  ? NoSuchPattern<Model extends '*' ? '*' : SameAction<'*', M>>
  : string extends keyof M
    ? Model extends ServiceWord
      ? NoSuchPattern<Extract<ServiceEventType, `${Model}.${string}`>>
      : P
    : Model extends keyof M
      ? P
      : NoSuchPattern<Model extends ServiceWord ? Extract<ServiceEventType, `${Model}.${string}`> : SameAction<'*', M>>

// The following are conditional for a second reason: the compiler shows those resolved, and other aliases by name.

/** The first words of the event types of the service. */
type ServiceWord = FirstWord<ServiceEventType>

type FirstWord<Type> = Type extends `${infer Word}.${string}` ? Word : never

/** Names that no model can have. */
type NoModel = '' | `${string}*${string}`

type SameAction<A extends string, M> = A extends Action
  ? `${keyof M & string}.${A}` | `*.${A}`
  : `${keyof M & string}.${A}`

type SameModel<Model extends string, M> = Model extends NoModel
  ? never
  : Model extends keyof M
    ? `${Model}.${Action | '*'}`
    : never

type SameStart<Word extends string, M, E> = Word extends '*'
  ? `*.${Action}`
  : SameModel<Word, M> | Extract<ServiceEventType | keyof E, `${Word}.${string}`>

type OrElse<T, Fallback> = [T] extends [never] ? Fallback : T
