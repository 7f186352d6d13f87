import type { QueuedTimer } from '../host/timer-queue.ts'
import type { TakenItem } from '../inbox/inbox.ts'
import { copyPlain, isPlain } from '../protocol/copy-plain.ts'
import { type ParsedEvent, parseAgain } from '../protocol/envelope.ts'
import { HandlerError } from '../protocol/errors.ts'
import { type Failed, type Outcome, toFailed, toOutcome } from '../protocol/outcome.ts'
import { quote } from '../protocol/show.ts'
import type { Lease } from './lease.ts'
import type { Watch } from './observer.ts'
import type { Order } from './order.ts'
import type { NamedHandler, Route } from './routes.ts'
import type { Shared } from './shared.ts'
import { StoreFailure } from './store-call.ts'

/** A request to handle an event: a delivery, a dispatch, or a worker's try of an item. Times are on the monotonic clock. */
export interface EventRequest {
  /** Set if a worker took the event out of the inbox. */
  readonly item?: TakenItem
  readonly startedAt: number
  readonly deadline: number
  /** The latest time at which a claim is useful: later than the deadline for events that the app dispatches. */
  readonly claimBy: number
  readonly source: string | undefined
  readonly waitUntil: ((work: Promise<unknown>) => unknown) | undefined
  readonly watch: Watch | undefined
}

interface Waiter {
  /** @param outcome undefined at the deadline of the delivery */
  readonly resolve: (outcome: Outcome | undefined) => void
  timer: QueuedTimer | undefined
}

/** Time by which a run may be overdue before it counts as cut off, in milliseconds. */
const CUT_OFF_AFTER_MS = 5_000
/** Number of duplicates that may wait for one event: an attacker who recorded a delivery can send it any number of times. */
const MAX_DUPLICATES = 100

/** Reason for which the schema or the handlers of an event have to stop. */
export type AbortCode = 'handler_timeout' | 'lease_lost' | 'worker_closed'
type HandlerErrorCode = AbortCode | 'handler_failed' | 'handler_abandoned' | 'transaction_misused'

/** One event from its claim to its result, with every delivery that waits for it. */
export class Run {
  readonly key: string
  /** Handlers may change it; `id`, `type` and `accountKey` below stay as they arrived. */
  readonly event: ParsedEvent
  readonly id: string
  readonly type: string
  readonly accountKey: string
  readonly route: Route
  readonly first: EventRequest
  /** Length of the text, once for each handler and once for the input of a schema: counts towards the limit of `Runs`. */
  readonly bytes: number
  /** `storing`: the handlers succeeded and all deliveries were answered, but the store has not taken it yet. */
  phase: 'claiming' | 'busy' | 'working' | 'settling' | 'storing' = 'claiming'
  /** The outcome of the handlers, unless the store reports a lost lease. */
  verdict: Outcome | undefined
  /** The final outcome. */
  outcome: Outcome | undefined
  lease: Lease | undefined
  /** Undefined if no handler has an order, or the event cannot be compared. */
  order: Order | undefined
  /** True while it counts towards `maxInFlight`. */
  hasPlace = false
  /** Time of the last call of `claim`. */
  askedAt = 0
  /** Outcome if no handler may run, unless the event is done, busy or cannot be claimed. */
  refusal: Outcome | undefined
  /** Names of the handlers that had finished when the run ended, in this or an earlier attempt. */
  marks: readonly string[]
  ended: Promise<void> | undefined
  /** Settles when the retries of store calls that failed at the end are over. Never rejects. */
  goesOn: Promise<unknown> | undefined
  /** True if a delivery was answered `late`, so that the end is reported to the owner. */
  wasLate = false
  latestDeadline: number
  claimBy: number

  readonly #shared: Shared
  #waiters: Set<Waiter> | undefined
  #claimFailure: Failed | undefined
  /** The signed text, until the handlers begin. */
  #text: string | undefined
  /** The events that handlers got. */
  #given: readonly ParsedEvent[] = []

  /** @param text the JSON of the event, unless the app made the event */
  constructor(shared: Shared, key: string, event: ParsedEvent, route: Route, first: EventRequest, text?: string) {
    this.#shared = shared
    this.key = key
    this.event = event
    this.id = event.id
    this.type = event.type
    this.accountKey = event.accountKey
    this.route = route
    this.first = first
    this.latestDeadline = first.deadline
    this.claimBy = first.claimBy
    this.marks = first.item?.marks ?? []
    const { handlers, schema } = route
    this.bytes = (text?.length ?? 0) * (handlers.length + (schema === undefined ? 0 : 1))
    if (handlers.length > 1 && schema === undefined) this.#text = text
  }

  /** Milliseconds until the last waiting delivery must be answered. Less than one counts as none: timers may fire early. */
  get timeLeft(): number {
    const leftMs = this.latestDeadline - this.#shared.settings.clock.monotonic()
    return leftMs < 1 ? 0 : leftMs
  }

  get handlerNames(): readonly string[] {
    return this.route.handlers.map(({ name }) => name)
  }

  end(outcome: Outcome): Outcome {
    this.outcome = outcome
    return outcome
  }

  /** Returns an event for each handler: none sees another's changes. A schema may share one default among many events. */
  give(handlers: readonly NamedHandler[]): readonly ParsedEvent[] {
    const { event, route } = this
    const text = this.#text
    this.#text = undefined
    this.#given = handlers.map((_, index) => {
      if (index === 0 && route.schema === undefined) return event
      return text === undefined ? copyPlain(event) : parseAgain(text, route)
    })
    return this.#given
  }

  /** Returns true if a handler got this event, or one with the same data. */
  hasGiven(event: object): boolean {
    const { data }: { readonly data?: unknown } = event
    // Data that is not plain is shared with the app, which may dispatch it again elsewhere.
    return this.#given.some((given) => given === event || (given.data === data && isPlain(data)))
  }

  /** Returns the outcome of the run, or the state at the deadline of the delivery. */
  wait(delivery: EventRequest): Outcome | Promise<Outcome> {
    if (this.phase === 'storing') {
      this.#handOver(delivery)
      return toOutcome('duplicate', this)
    }
    this.#waiters ??= new Set()
    const waiters = this.#waiters
    if (waiters.size > MAX_DUPLICATES) return toOutcome('busy', this)
    this.latestDeadline = Math.max(this.latestDeadline, delivery.deadline)
    this.claimBy = Math.max(this.claimBy, delivery.claimBy)
    const answered = new Promise<Outcome | undefined>((resolve) => {
      const waiter: Waiter = { resolve, timer: undefined }
      waiters.add(waiter)
      if (delivery.deadline === Number.POSITIVE_INFINITY) return
      waiter.timer = this.#shared.answerTimers.set(delivery.deadline, () => this.#answer(waiter, undefined))
    })
    return this.#finishAnswer(delivery, answered)
  }

  /** Continues in the async context of the delivery, not in that of its answer. */
  async #finishAnswer(delivery: EventRequest, answered: Promise<Outcome | undefined>): Promise<Outcome> {
    const answer = (await answered) ?? this.outcome
    if (answer !== undefined && (this.outcome === undefined || this.goesOn !== undefined)) this.#handOver(delivery)
    const outcome = answer ?? this.#atDeadline(delivery)
    return delivery === this.first ? outcome : ({ ...outcome, joined: true } as Outcome) // spreading widens the union
  }

  /** Answers all deliveries that wait. */
  answerAll(outcome: Outcome): void {
    for (const waiter of this.#waiters ?? []) this.#answer(waiter, outcome)
  }

  /** Returns the outcome of an event whose claim failed or came too late, and reports it once. */
  failClaim(failure: StoreFailure): Failed {
    if (this.#claimFailure === undefined) {
      const error = failure.toError('claim', 'no handler ran, and the sender will retry')
      this.#shared.reporter.error(error)
      this.#claimFailure = toFailed(503, 'store_unavailable', error, this)
    }
    return this.#claimFailure
  }

  toError(code: HandlerErrorCode, message: string, handlers: readonly string[], cause?: unknown): HandlerError {
    const { id: eventId, type: eventType, accountKey } = this
    return new HandlerError(code, message, { handlers, eventId, eventType, accountKey }, { cause })
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

  /** True if the host has suspended this run for good, as some serverless hosts do after an answer: else it would have renewed its claim. */
  get isCutOff(): boolean {
    return this.#shared.settings.clock.monotonic() > (this.lease?.endsAt ?? this.latestDeadline) + CUT_OFF_AFTER_MS
  }

  #atDeadline(delivery: EventRequest): Outcome {
    if (this.phase === 'busy') return toOutcome('busy', this)
    if (this.phase === 'claiming' && delivery.claimBy <= delivery.deadline)
      return this.failClaim(new StoreFailure(undefined))
    this.#handOver(delivery)
    if (this.verdict !== undefined) return this.verdict
    this.wasLate = true
    return toOutcome('late', this)
  }

  #answer(waiter: Waiter, outcome: Outcome | undefined): void {
    this.#waiters?.delete(waiter)
    if (waiter.timer !== undefined) this.#shared.answerTimers.clear(waiter.timer)
    waiter.resolve(outcome)
  }

  /** Passes unfinished work to a serverless host, which may otherwise freeze the process after the answer. */
  #handOver({ waitUntil }: EventRequest): void {
    if (waitUntil === undefined) return
    const work = Promise.resolve(this.ended).then(() => this.goesOn)
    this.#shared.reporter.callHook('waitUntil', waitUntil, work)
  }
}
