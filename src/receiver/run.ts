import type { TakenItem } from '../inbox/inbox.ts'
import { steeringOf } from '../inbox/steer.ts'
import { copyPlain, isPlain } from '../protocol/copy-plain.ts'
import { type ParsedEvent, parseAgain } from '../protocol/envelope.ts'
import { HandlerError, type PosternError } from '../protocol/errors.ts'
import type { Outcome } from '../protocol/outcome.ts'
import { explainReturned } from '../protocol/promises.ts'
import { quote, reasonOf } from '../protocol/show.ts'
import type { HandlerContext } from './handler.ts'
import type { Lease } from './lease.ts'
import type { Watch } from './observer.ts'
import type { NamedHandler, Route } from './routes.ts'

/** A request to handle an event: a delivery, a dispatch, or a worker's try of an item. Times are on the monotonic clock. */
export interface EventRequest {
  /** Set if a worker took the event out of the inbox. */
  readonly item?: TakenItem
  /** Collects the errors of a worker's try. */
  readonly errors?: PosternError[]
  readonly startedAt: number
  readonly deadline: number
  /** When a claim stops being useful: the deadline of a delivery; `STORE_LIMIT_MS` after the start of a worker's try, and not before that for a dispatch. */
  readonly claimBy: number
  readonly source: string | undefined
  /** First receipt of the event, in milliseconds since 1970. */
  readonly receivedAt: number
  readonly attempt: HandlerContext['attempt']
  readonly waitUntil: ((work: Promise<unknown>) => unknown) | undefined
  readonly watch: Watch | undefined
}

/** The service does not say which of its attempts a delivery is. */
export const UNKNOWN_ATTEMPT: HandlerContext['attempt'] = Object.freeze({ number: 1, isLast: undefined })

/** Reason for which the schema or the handlers of an event have to stop. */
export type AbortCode = 'handler_timeout' | 'lease_lost' | 'worker_closed'
type HandlerErrorCode = AbortCode | 'handler_failed' | 'handler_abandoned' | 'transaction_misused'

/** The error of a call of `context.transaction`, which apps in plain JavaScript may expect of every store. */
const NO_TRANSACTION = /(^|ontext\.|\b(c|ctx)\.)transaction is not a function/
const NO_TRANSACTIONS =
  'The store of this receiver has no transactions, so there is no context.transaction: use postgresStore or sqliteStore.'

const NO_STEERING =
  'RetryLater and DeadLetter steer the worker of an inbox, and no worker ran this event: it failed as with any other error, and is retried as its sender does.'

/** Result of a run. */
export interface RunResult {
  readonly outcome: Outcome
  /** Names of the handlers that have finished, in this or an earlier attempt. */
  readonly marks: readonly string[]
  /** Settles when the retries of store calls that failed at the end are over. Never rejects. */
  readonly goesOn?: Promise<unknown> | undefined
}

/** Result of the handlers of an event, and how to settle its claim. */
export interface AttemptResult extends RunResult {
  /** An abandoned or lost claim is left to expire; only an abandoned one can still store marks. */
  readonly settleBy: 'complete' | 'release' | 'abandon' | 'nothing'
}

/**
 * State of a run, with what that state has. `busy`: another process holds the event. `working`: schema and handlers run. `storing`: the
 * handlers have ended with this verdict, and the store is told; from the first failure of that on, all deliveries are answered with it.
 */
export type RunState =
  | { readonly at: 'claiming' | 'busy' }
  | { readonly at: 'working'; readonly lease: Lease }
  | { readonly at: 'storing'; readonly lease: Lease; readonly verdict: Outcome; readonly isAnswered: boolean }
  | { readonly at: 'ended'; readonly result: RunResult }

/** One event to be claimed and handled. */
export class Run {
  readonly key: string
  /** Handlers may change it; `id`, `type` and `accountKey` below stay as they arrived. */
  readonly event: ParsedEvent
  readonly id: string
  readonly type: string
  readonly accountKey: string
  readonly route: Route
  readonly first: EventRequest
  /** Length of the text times the number of handlers, and once more for a schema: the measure of the room for events. */
  readonly bytes: number
  /** The signed text; undefined if the app made the event. */
  readonly text: string | undefined
  #state: RunState = { at: 'claiming' }
  /** The events that handlers got. */
  #given: readonly ParsedEvent[] = []

  /** @param text the JSON of the event, unless the app made the event */
  constructor(key: string, event: ParsedEvent, route: Route, first: EventRequest, text?: string) {
    this.key = key
    this.event = event
    this.id = event.id
    this.type = event.type
    this.accountKey = event.accountKey
    this.route = route
    this.first = first
    const { handlers, schema } = route
    this.bytes = (text?.length ?? 0) * (handlers.length + (schema === undefined ? 0 : 1))
    this.text = text
  }

  get state(): RunState {
    return this.#state
  }

  /** Called by `runEvent` alone. */
  moveTo(state: RunState): void {
    this.#state = state
  }

  end(result: RunResult): RunResult {
    this.moveTo({ at: 'ended', result })
    return result
  }

  get handlerNames(): readonly string[] {
    return this.route.handlers.map(({ name }) => name)
  }

  /** Returns an event for each handler, so that none sees changes of another. The first gets the event itself, unless a schema made it: its output may share default objects between events. */
  give(handlers: readonly NamedHandler[]): readonly ParsedEvent[] {
    const { event, route, text } = this
    this.#given = handlers.map((_, index) => {
      if (index === 0 && route.schema === undefined) return event
      return text === undefined || route.schema !== undefined ? copyPlain(event) : parseAgain(text, route)
    })
    return this.#given
  }

  /** Returns true if a handler got this event, or one with the same data. */
  hasGiven(event: object): boolean {
    const { data }: { readonly data?: unknown } = event
    // Data that is not plain is never copied, so that two events may have the same data.
    return this.#given.some((given) => given === event || (given.data === data && isPlain(data)))
  }

  toError(code: HandlerErrorCode, message: string, handlers: readonly string[], cause?: unknown): HandlerError {
    const { id: eventId, type: eventType, accountKey } = this
    return new HandlerError(code, message, { handlers, eventId, eventType, accountKey }, { cause })
  }

  /** @param hasTransactions true if the store has them */
  toFailure(
    failures: readonly { readonly name: string; readonly error: unknown }[],
    hasTransactions: boolean,
  ): HandlerError {
    const [names, errors] = [failures.map(({ name }) => name), failures.map(({ error }) => error)]
    // Its message has all reasons: loggers such as pino print no errors of an aggregate that is a cause.
    const reasons = failures.map(({ name, error }) => `${name}: ${reasonOf(error)}`).join('; ')
    const cause = errors.length === 1 ? errors[0] : new AggregateError(errors, reasons)
    const isLacking = !hasTransactions && errors.some((error) => NO_TRANSACTION.test(Object(error).message))
    const isUnsteered = this.first.item === undefined && errors.some((error) => steeringOf([error]) !== undefined)
    const message = [
      `Handlers of ${quote(this.type)} failed: ${names.join(', ')}.${explainReturned(errors)}`,
      ...(isLacking ? [NO_TRANSACTIONS] : []),
      ...(isUnsteered ? [NO_STEERING] : []),
    ].join(' ')
    return this.toError('handler_failed', message, names, cause)
  }

  /** @param names of the handlers that are still running; none while the schema is */
  toAbortReason(code: AbortCode, handlerTimeoutMs: number, names: readonly string[]): HandlerError {
    const type = quote(this.type)
    const what = names.length === 0 ? 'schema' : 'handlers'
    const message = {
      handler_timeout: `The ${what} of ${type} ran for ${handlerTimeoutMs} ms (handlerTimeoutMs).`,
      lease_lost: `Another process has taken over ${type} while its ${what} ran here.`,
      worker_closed: `The ${what} of ${type} were still running when the timeout of their worker's close() ended. The event returns to the inbox, and the try does not count.`,
    }[code]
    return this.toError(code, message, names)
  }
}
