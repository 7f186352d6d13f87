import { type Clock, systemClock } from '../host/clock.ts'
import type { Complete } from '../host/complete.ts'
import { consoleLogger, type Logger } from '../host/logger.ts'
import type { Inbox, InboxItem } from '../inbox/inbox.ts'
import { importSecrets, type Secrets, type SecretsFunction, type VerificationKey } from '../protocol/authenticate.ts'
import { checkEventType, checkModelKey, checkSchemas } from '../protocol/check-schemas.ts'
import type { PosternError } from '../protocol/errors.ts'
import type { EventSchemas, ModelSchemas, NoEvents, OpenModels, WebhookEvent } from '../protocol/events.ts'
import { SIGNATURE_HEADER } from '../protocol/head.ts'
import {
  ANY,
  CLOCK,
  FUNCTION,
  type Kinds,
  LOGGER,
  number,
  OptionChecker,
  whole,
  withMethods,
} from '../protocol/option-checker.ts'
import type { Outcome } from '../protocol/outcome.ts'
import { type Protocol, serviceProtocol } from '../protocol/protocol.ts'
import { DEFAULT_DEADLINE_MS, MAX_DEADLINE_MS, MIN_MEMORY_MS } from '../protocol/schedule.ts'
import type { StandardSchema } from '../protocol/schema.ts'
import { show } from '../protocol/show.ts'
import { SIGNATURE_NAME } from '../protocol/signature-name.ts'
import { memoryStore } from '../store/memory-store.ts'
import type { Store } from '../store/store.ts'
import { findDoubts } from './doubts.ts'
import { isWinston } from './winston-logger.ts'

/** The second argument of `onOutcome`. */
export interface OutcomeInfo {
  /** The value of the adapter's `source` option. */
  readonly source: string | undefined
  /** Milliseconds since the first sight of the request. */
  readonly durationMs: number
}

/**
 * The options of `createReceiver`. Options that determine the types of handlers are a type of their own: if `secret` stood among them and was
 * missing, the compiler would infer nothing and blame the models.
 */
export type ReceiverOptions<M = OpenModels, E = NoEvents, S extends Store = Store> = {
  /** The models whose records handlers get, with their schemas. Once given, any other model name is a compile error. */
  readonly models?: M | undefined
  /** Further event types, which are not about records, with the schema of their `data`. */
  readonly events?: (E & ([keyof E] extends [never] ? Readonly<Record<string, never>> : unknown)) | undefined
  /** Remembers handled events. Default: `memoryStore()`, for one process. */
  readonly store?: S | undefined
} & OtherOptions

/** The options that do not determine the types of handlers. */
export type OtherOptions = {
  /**
   * The webhook's signing secret: text or bytes, `{ secret, accountKey }` to bind it to one account, a list of these, or a function
   * that chooses by source or account. `undefined` is in the type so that `process.env.WEBHOOK_SECRET` can be given as it is; at run
   * time it is refused with `secret_unusable`.
   */
  readonly secret: Secrets | SecretsFunction | undefined
  /** Stores events: a delivery is answered 200 `accepted`, and workers run the handlers (`receiver.work`). Default: none; handlers run before the answer. */
  readonly inbox?: Inbox | undefined
  /**
   * Lane of an event in the inbox, of which one event is handled at a time, in order of arrival. `record`: the record that it is about. A function
   * returns any text, or undefined for no lane. Accounts never share a lane. Default: none.
   */
  readonly lane?: 'record' | ((event: WebhookEvent<string, unknown>) => string | undefined) | undefined
  /** Part of the deduplication key. Two receivers that handle the same events on one store need two names. Default `default`. */
  readonly name?: string | undefined
  /** Name of the header that carries the signature, if the installation of the service calls it otherwise. Default `X-Service-Signature`. */
  readonly signatureHeader?: string | undefined
  /** Default 1 MiB. */
  readonly maxBodyBytes?: number | undefined
  /** Bytes for unchecked bodies, the oldest of which is cut if they need more; a quarter of it limits events under way. Default 64 MiB, or eight times `maxBodyBytes` if more. */
  readonly maxBufferedBytes?: number | undefined
  /** The answer comes by then, counted from the first sight of the request. Default 8,000; 100 to 9,500. */
  readonly deadlineMs?: number | undefined
  /** When `context.signal` aborts. Default 60,000. */
  readonly handlerTimeoutMs?: number | undefined
  /** The time that a claim lasts without renewal, and so the time that a crash blocks its event. Whole. Default 15,000; 2,000 to 25,000. */
  readonly leaseMs?: number | undefined
  /** Events under way at the same time; others are answered 503, duplicates excepted. One account alone gets four fifths of it. Default 1,000. */
  readonly maxInFlight?: number | undefined
  /** Refuse events that are older than this many milliseconds by their signed time. Off by default; at least 3 hours, since retries are late by nature. */
  readonly maxAge?: number | undefined
  readonly clock?: Clock | undefined
  /** In the shape of pino's; `winstonLogger` adapts that of winston. Default: warnings and errors on the console. */
  readonly logger?: Logger | undefined
  /** Called with the outcome of each delivery, and once more with `late: true` if work ended after its answer. */
  readonly onOutcome?: ((outcome: Outcome, info: OutcomeInfo) => void) | undefined
  /** Called with an event of the inbox that is not tried again by itself, and why. */
  readonly onDeadLetter?: ((item: InboxItem, error: PosternError) => void) | undefined
  /** Called with what the owner of the app has to look at. */
  readonly onError?: ((error: PosternError) => void) | undefined
}

/** A body is refused if keeping its fragments costs more than this many times `maxBodyBytes`. */
const MAX_OVERHEAD = 4
/** A body that costs less than this many bytes may come in any number of fragments, however small `maxBodyBytes` is. */
const LEAST_BODY_COST = 1_048_576

type Given = Complete<ReceiverOptions<ModelSchemas, EventSchemas>>
type WithoutDefault = 'maxAge' | 'onOutcome' | 'onError' | 'inbox' | 'lane' | 'onDeadLetter'
type Undefinable = { readonly [Name in WithoutDefault]: Given[Name] | undefined }

/** The options, checked and with every default filled in. */
export interface ReceiverSettings
  extends Omit<Given, WithoutDefault | 'secret' | 'models' | 'events' | 'signatureHeader'>,
    Undefinable {
  readonly secret: readonly VerificationKey[] | SecretsFunction
  readonly models: ReadonlyMap<string, StandardSchema> | undefined
  readonly events: ReadonlyMap<string, StandardSchema>
  readonly protocol: Protocol
  /** True if the owner gave `name`. */
  readonly isNamed: boolean
  /** Warnings of what may be a mistake. */
  readonly doubts: readonly string[]
  /** The most memory that one body may take, including the objects that keep its fragments, in bytes. */
  readonly maxBodyCost: number
}

/** Defaults and limits of options that differ between senders. */
export interface SenderTerms {
  readonly check: OptionChecker
  readonly protocol: Protocol
  readonly name: string
  readonly maxBodyBytes: number
  readonly deadlineMs: { readonly initial: number; readonly most: number }
  /** The shortest retention of a store, in milliseconds, and what repeats events for so long. */
  readonly retentionMs: { readonly least: number; readonly reason: string }
  readonly checkEventType: (check: OptionChecker, type: string) => void
}

/** Checks the options of `createReceiver`, and throws with the fix if one cannot work. */
export function checkReceiverOptions(
  options: ReceiverOptions<ModelSchemas, EventSchemas>,
  next?: unknown,
): ReceiverSettings {
  const check = new OptionChecker('createReceiver')
  check.mustFit(options, OPTIONS, ['secret'], hintFor)
  check.mustEnd(next, ONE_OBJECT)
  return checkOptions(options, {
    check,
    protocol: serviceProtocol(options.signatureHeader ?? SIGNATURE_NAME),
    name: 'default',
    maxBodyBytes: 1_048_576,
    deadlineMs: { initial: DEFAULT_DEADLINE_MS, most: MAX_DEADLINE_MS },
    retentionMs: { least: MIN_MEMORY_MS, reason: 'the service retries up to 2 h 36 min after the event' },
    checkEventType,
  })
}

/** Completes options whose kinds are right. */
export function checkOptions(
  options: ReceiverOptions<ModelSchemas, EventSchemas>,
  terms: SenderTerms,
): ReceiverSettings {
  const { check, protocol } = terms
  const {
    secret,
    models,
    events = {},
    store,
    name,
    maxBodyBytes = terms.maxBodyBytes,
    maxBufferedBytes,
    deadlineMs = terms.deadlineMs.initial,
    ...rest
  } = options
  const {
    handlerTimeoutMs = 60_000,
    leaseMs = 15_000,
    maxInFlight = 1_000,
    maxAge,
    clock = systemClock,
    ...engines
  } = rest
  const owners = checkOwners(terms, engines)

  const maxBodyCost = Math.max(maxBodyBytes * MAX_OVERHEAD, LEAST_BODY_COST)
  if (maxBufferedBytes !== undefined)
    check.mustBe('maxBufferedBytes', maxBufferedBytes, number(maxBodyCost, Number.MAX_SAFE_INTEGER, BUFFER_REASON))
  check.mustBe('deadlineMs', deadlineMs, number(100, terms.deadlineMs.most))

  return {
    // Thrown here, few calls deep, so that the stack of the error reaches the app's line.
    secret: typeof secret === 'function' ? secret : importSecrets(secret, protocol),
    protocol,
    models: models === undefined ? undefined : checkSchemas(check, 'models', models, checkModelKey),
    events: checkSchemas(check, 'events', events, terms.checkEventType),
    store: checkStore(terms, store === undefined ? memoryStore({ clock }) : store),
    name: name ?? terms.name,
    isNamed: name !== undefined,
    doubts: findDoubts(options, handlerTimeoutMs < Math.min(1_000, deadlineMs)),
    maxBodyBytes,
    maxBodyCost,
    maxBufferedBytes: maxBufferedBytes ?? Math.max(67_108_864, 8 * maxBodyBytes),
    deadlineMs,
    handlerTimeoutMs,
    leaseMs,
    maxInFlight,
    maxAge,
    clock,
    ...owners,
  }
}

const NO_LANES =
  'lane needs an inbox that keeps lanes: sqliteInbox or postgresInbox. bullmqInbox has none, since BullMQ has groups in its paid edition only.'
const BUFFER_REASON = 'one body in small fragments may cost that'
const AGE_REASON = 'the last of the five attempts comes 2 h 36 min after the event'
/** The options of `createReceiver`. */
export const OPTIONS: Kinds<ReceiverOptions> = {
  secret: ANY,
  models: ANY,
  events: ANY,
  store: ANY,
  name: (value) =>
    typeof value === 'string' && /^[\x21-\x7e]{1,64}$/.test(value)
      ? undefined
      : '1 to 64 printable characters without blanks',
  signatureHeader: SIGNATURE_HEADER,
  maxBodyBytes: whole(100, 1_073_741_824, 'bytes'),
  maxBufferedBytes: ANY,
  deadlineMs: ANY,
  handlerTimeoutMs: number(100, 86_400_000, 'it is in milliseconds'),
  leaseMs: whole(2_000, 25_000, 'milliseconds'),
  maxInFlight: number(1, 1_000_000),
  maxAge: number(MIN_MEMORY_MS, Number.MAX_SAFE_INTEGER, AGE_REASON),
  clock: CLOCK,
  logger: LOGGER,
  onOutcome: FUNCTION,
  onError: FUNCTION,
  inbox: withMethods('put', 'work', 'counts', 'list', 'get', 'replay', 'drop'),
  lane: (value) =>
    value === 'record' ? undefined : FUNCTION(value) && "'record', or a function that returns the lane of an event",
  onDeadLetter: FUNCTION,
}

export const ONE_OBJECT = 'all options go into one object, and handlers into receiver.on()'

const OF_ON = 'Handlers are registered by receiver.on().'
const OF_WORKER = 'It is an option of receiver.work().'
const OF_ADAPTER = 'It is an option of the adapter, such as nodeHandler(receiver, { path }).'

/** Sentences about options that belong elsewhere. */
const HINTS: Readonly<Record<string, string>> = {
  secrets: 'Several secrets are given as a list in "secret".',
  sender: 'Another sender is the first argument of receiveFrom(sender, { secret }).',
  headers: 'Another sender is given to receiveFrom(sender, { secret }).',
  handler: OF_ON,
  handlers: OF_ON,
  onEvent: OF_ON,
  order: 'It is an option of receiver.on().',
  retentionMs: 'It is an option of the store.',
  path: OF_ADAPTER,
  source: OF_ADAPTER,
  attempts: OF_WORKER,
  concurrency: OF_WORKER,
  retries: OF_WORKER,
  maxAttempts: OF_WORKER,
}

export function hintFor(stray: string): string | undefined {
  return Object.hasOwn(HINTS, stray) ? HINTS[stray] : undefined
}

type Owners = Pick<ReceiverSettings, 'logger' | 'onOutcome' | 'onError' | 'onDeadLetter' | 'inbox' | 'lane'>

/** Checks the hooks, the logger and the inbox. */
function checkOwners(
  { check, protocol }: SenderTerms,
  options: Pick<ReceiverOptions<ModelSchemas, EventSchemas>, keyof Owners>,
): Owners {
  const { logger = consoleLogger, onOutcome, onError, onDeadLetter, inbox, lane } = options
  if (isWinston(logger))
    throw check.invalid('logger is of winston, which takes the message first: give winstonLogger(logger), of postern.')
  if (lane === 'record' && protocol.sender !== undefined)
    throw check.invalid("lane is 'record', but only events of the CRM service are about records; give a function.")
  if (lane !== undefined && inbox?.keepsLanes !== true) throw check.invalid(NO_LANES)
  if (onDeadLetter !== undefined && inbox === undefined)
    throw check.invalid('onDeadLetter is about events of an inbox, and there is none. Give an inbox, or leave it out.')
  return { logger, onOutcome, onError, onDeadLetter, inbox, lane }
}

function checkStore({ check, retentionMs: { least, reason } }: SenderTerms, store: Store): Store {
  const optional = ['transaction', 'transactionSync', 'forget'].filter(
    (method) => Reflect.get(Object(store), method) !== undefined,
  )
  check.mustBe('store', store, withMethods('claim', 'renew', 'complete', 'release', ...optional))
  if (typeof store.retentionMs === 'number' && store.retentionMs >= least) return store
  throw check.invalid(
    `the store keeps done events for ${show(store.retentionMs)} ms, but ${reason}: such events would run again. Give it a retentionMs of at least ${least} (${least / 3_600_000} h); 7 days is the default.`,
  )
}
