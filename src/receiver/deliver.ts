import { LONGEST_TIMER_MS } from '../host/clock.ts'
import { readDevToken } from '../host/dev-token.ts'
import { authenticate } from '../protocol/authenticate.ts'
import { type Envelope, type ParsedEvent, toOwnEvent, withModel } from '../protocol/envelope.ts'
import { PosternError } from '../protocol/errors.ts'
import type { WebhookEvent } from '../protocol/events.ts'
import { withDetails } from '../protocol/failure.ts'
import { checkHead, declaredLength } from '../protocol/head.ts'
import { isBytes } from '../protocol/is-bytes.ts'
import { checkMs } from '../protocol/option-checker.ts'
import { type Outcome, Rejection, type Reply, toOutcome, toRejected, toReply, toRetried } from '../protocol/outcome.ts'
import { ignoreRejection, isThenable } from '../protocol/promises.ts'
import { STORE_LIMIT_MS } from '../protocol/schedule.ts'
import { quote, reasonOf, show } from '../protocol/show.ts'
import type { DeliveryRequest } from './adapter.ts'
import { Bodies } from './bodies.ts'
import { findStray, refuseGiven } from './given.ts'
import { accept, laneOf } from './inbox-path.ts'
import type { Watch } from './observer.ts'
import type { DispatchOptions, GivenDelivery } from './receiver.ts'
import type { Routes } from './routes.ts'
import { type EventRequest, UNKNOWN_ATTEMPT } from './run.ts'
import type { Runs } from './runs.ts'
import { createKeySource, type Keys, toSource } from './secrets.ts'
import { failWithoutHandlers, type Shared } from './shared.ts'

/** Time for which the rest of a refused request is read before its connection is ended, in milliseconds. */
const DRAIN_MS = 2_000
/** A `receivedAt` of more than a day ago is a mistake, usually seconds in place of milliseconds. */
const LONGEST_AGO_MS = 86_400_000
const TOO_OLD = new Rejection('event_too_old', 'The event is older than maxAge, or its timestamp is not a date.')
/** Memory that a look-up of secrets takes in addition to the body: the request, and the app's state. */
const LOOK_UP_BYTES = 8_192
const NO_BYTES = new Uint8Array()
/** Number of deliveries to `receive` whose fields are checked. The same lines of the app make all others. */
const MOST_CHECKED = 100
const CLOSED =
  'Deliveries come to a receiver that is closed, and are answered 503. Close it only when the process ends, after its server.'
const CLOSING: Outcome = { outcome: 'closing', status: 503 }
const ignore = () => {}

/**
 * The path of a delivery: (1) head, (2) body, (3) secrets, (4) signature, (5) envelope, (6) route, (7) join of a running event, or claim,
 * (8) schema, (9) handlers, (10) settling. `Runs` continues from stop 7. With an inbox, `accept` stores a delivery's event there, and
 * a worker runs stops 5 to 10 later (`inbox-path.ts`). Synchronous results are not awaited: each `await` costs 3 % of a delivery.
 */
export class DeliveryPath {
  readonly #shared: Shared
  readonly #routes: Routes
  readonly #runs: Runs
  readonly #bodies: Bodies
  readonly #keysFor: ReturnType<typeof createKeySource>
  readonly #devToken = readDevToken()
  #checked = 0

  constructor(shared: Shared, routes: Routes, runs: Runs) {
    this.#shared = shared
    this.#routes = routes
    this.#runs = runs
    this.#bodies = new Bodies(shared)
    this.#keysFor = createKeySource(shared)
  }

  /** Handles a request, from its head to its answer. Never rejects. */
  async handle(request: DeliveryRequest, watch: Watch | undefined): Promise<Reply> {
    const { activity, settings } = this.#shared
    const source = toSource("The adapter's source option", () => request.source?.())
    const delivery = this.#toDelivery(settings.clock.monotonic(), source, request.waitUntil, watch)
    const closed = this.#refuseClosed()
    const end = closed === undefined ? activity.beginOnce() : ignore
    let isUnseen = closed === undefined
    try {
      if (closed !== undefined) return this.#reply(closed, delivery, request)
      request.onAnswered?.(end)
      isUnseen = request.onAnswered === undefined
      const refusal = checkHead(request, settings.maxBodyBytes) // 1
      const head = refusal ?? settings.protocol.readHead(request, delivery.receivedAt)
      if (head instanceof Rejection) return this.#reply(toRejected(head), delivery, request)
      if (source instanceof PosternError) return this.#reply(this.#failSecrets(source), delivery, request)
      let body = this.#bodies.read(request, delivery) // 2
      if (isThenable(body)) body = await body
      if (!isBytes(body)) return this.#reply(body, delivery, request)
      const answering = this.#answer(body, head, delivery) // 3 to 10
      body = NO_BYTES // retains no bytes while it waits
      const isOfDev = this.#devToken !== undefined && request.header('x-postern-dev') === this.#devToken
      const outcome = isThenable(answering) ? await answering : answering
      const reply = this.#reply(outcome, delivery)
      return isOfDev ? withDetails(reply, outcome, settings) : reply
    } catch (cause) {
      return toReply(this.#report(this.#toUnexpected(cause), delivery), true, DRAIN_MS)
    } finally {
      if (isUnseen) activity.endUnseen(end)
    }
  }

  /** Handles bytes. Never rejects. */
  receive(received: GivenDelivery, next: unknown, watch: Watch | undefined): Promise<Outcome> {
    const { activity, settings } = this.#shared
    let delivery: EventRequest | undefined
    activity.begin()
    const answering = this.#attempt(() => {
      const { body, signature, headers, source: given, receivedAt, waitUntil } = Object(received) as GivenDelivery // may be plain JavaScript
      const mistake = refuseGiven(received, settings.protocol.sender === undefined)
      const source = toSource('The source given to receive()', () => given)
      const elapsedMs = this.#elapsedSince(receivedAt)
      const startedAt = settings.clock.monotonic() - Math.min(elapsedMs, settings.deadlineMs)
      delivery = this.#toDelivery(startedAt, source, waitUntil, watch, Math.round(settings.clock.now() - elapsedMs))
      const closed = this.#refuseClosed()
      if (closed !== undefined) return closed
      if (source instanceof PosternError) return this.#failSecrets(source)
      if (mistake !== undefined) return this.#bodies.refuse(mistake)
      if (this.#checked++ < MOST_CHECKED) this.#reportStray(received, next)
      const bytes = this.#bodies.toBytes(body)
      if (!isBytes(bytes)) return bytes
      const head = settings.protocol.readGiven({ signature, headers }, delivery.receivedAt) // 1
      return head instanceof Rejection ? toRejected(head) : this.#answer(bytes, head, delivery) // 3 to 10
    })
    return this.#end(answering, delivery ?? this.#toDelivery(settings.clock.monotonic(), undefined, undefined, watch))
  }

  /** Reports a field, or an argument, that `receive` does not know. The delivery is handled without it. */
  #reportStray(received: GivenDelivery, next: unknown): void {
    const stray = findStray(received, next)
    if (stray !== undefined) this.#shared.reporter.errorOnce(new PosternError('option_unknown', stray))
  }

  #attempt(answer: () => Outcome | Promise<Outcome>): Outcome | Promise<Outcome> {
    try {
      return answer()
    } catch (cause) {
      return this.#toUnexpected(cause)
    }
  }

  /** Ends what `activity.begin` counted. Takes the answer, not a function: a frame that waits would retain the function's bytes. */
  async #end(answering: Outcome | Promise<Outcome>, delivery: EventRequest): Promise<Outcome> {
    try {
      return this.#report(isThenable(answering) ? await answering : answering, delivery)
    } catch (cause) {
      return this.#report(this.#toUnexpected(cause), delivery)
    } finally {
      this.#shared.activity.end()
    }
  }

  /** Handles a verified event. */
  dispatch(event: WebhookEvent<string, unknown>, options: DispatchOptions = {}): Promise<Outcome> {
    const copy = toOwnEvent(event)
    if (copy instanceof Rejection || !this.#runs.isWithin(this.#shared.toKey(copy.accountKey, copy.id), event))
      return this.#checkAndDispatch(copy, options)
    const error = new PosternError(
      'dispatch_within',
      `A handler of ${quote(copy.type)} passed its own event to dispatch(), and would wait for itself. Call the function that you need, or give the new event another id.`,
    )
    this.#shared.reporter.errorOnce(error)
    const refused = Promise.reject<Outcome>(error)
    ignoreRejection(refused) // the handler may not await it; the line above reports it
    return refused
  }

  async #checkAndDispatch(event: ParsedEvent | Rejection, options: DispatchOptions): Promise<Outcome> {
    const { reporter, settings } = this.#shared
    if (event instanceof Rejection)
      throw new PosternError('event_invalid', `dispatch() was given something that is not an event: ${event.reason}`)
    const waitMs = checkMs('dispatch', 'waitMs', options, settings.deadlineMs, LONGEST_TIMER_MS)
    return reporter.watch('dispatch', (watch) => this.#dispatch(event, waitMs, watch))
  }

  #dispatch(event: ParsedEvent, waitMs: number, watch: Watch | undefined): Promise<Outcome> {
    const { activity, settings } = this.#shared
    activity.begin()
    const startedAt = settings.clock.monotonic()
    const deadline = startedAt + waitMs
    const claimBy = Math.max(deadline, startedAt + STORE_LIMIT_MS)
    const delivery = { ...this.#toDelivery(startedAt, undefined, undefined, watch), deadline, claimBy }
    return this.#end(
      this.#attempt(() => this.#route({ event }, delivery)), // 6 to 10
      delivery,
    )
  }

  /** Stops 3 to 10. Returns a promise only if one of them is asynchronous. */
  #answer(body: Uint8Array, head: unknown, delivery: EventRequest): Outcome | Promise<Outcome> {
    const mayWait = typeof this.#shared.settings.secret === 'function'
    if (mayWait && !this.#bodies.hasRoom(body.length + LOOK_UP_BYTES)) return this.#bodies.full()
    const keys = this.#keysFor(body, delivery) // 3
    return isThenable(keys) ? this.#awaitKeys(keys, body, head, delivery) : this.#verify(keys, body, head, delivery)
  }

  async #awaitKeys(keys: Promise<Keys>, body: Uint8Array, head: unknown, delivery: EventRequest): Promise<Outcome> {
    const cost = body.length + LOOK_UP_BYTES
    if (!this.#bodies.hold(cost)) return this.#bodies.full()
    const found = await keys
    this.#bodies.letGo(cost)
    return this.#verify(found, body, head, delivery)
  }

  #verify(keys: Keys, body: Uint8Array, head: unknown, delivery: EventRequest): Outcome | Promise<Outcome> {
    if (keys instanceof PosternError) return this.#failSecrets(keys)
    const parsed = keys instanceof Rejection ? keys : authenticate(body, head, keys, this.#shared.settings.protocol) // 4 and 5
    return parsed instanceof Rejection ? toRejected(parsed) : this.#route(parsed, delivery, body)
  }

  /** Stops 6 to 10, for a verified event that nothing else refers to. */
  #route(
    { event, text }: Partial<Envelope> & Pick<Envelope, 'event'>,
    delivery: EventRequest,
    body?: Uint8Array,
  ): Outcome | Promise<Outcome> {
    const { clock, maxAge, inbox, protocol } = this.#shared.settings
    const { accountKey, id, type } = event
    if (maxAge !== undefined && !(clock.now() - Date.parse(event.timestamp) <= maxAge))
      return toRejected(TOO_OLD, event)
    if (this.#routes.isEmpty) return failWithoutHandlers(this.#shared, event)
    const route = this.#routes.find(type) // 6
    if (route === undefined) return toOutcome('ignored', event)
    const key = this.#shared.toKey(accountKey, id)
    if (inbox !== undefined && body !== undefined) {
      const bytes = protocol.sender === undefined || text === undefined ? body : Buffer.from(text)
      const item = { key, bytes, accountKey, id, type, lane: laneOf(this.#shared, event, route) }
      return accept(this.#shared, this.#bodies, inbox, item, delivery) // 7
    }
    return this.#runs.answer(key, withModel(event, route), route, delivery, text) // 7 to 10
  }

  /** Refuses deliveries while closing, unless events still run, which duplicates may join. */
  #refuseClosed(): Outcome | undefined {
    if (!this.#shared.isClosing || this.#runs.size > 0) return undefined
    this.#shared.reporter.warnOnce(CLOSED)
    return CLOSING
  }

  /** Cuts the incomplete bodies once no event runs that a duplicate could join. */
  async close(): Promise<void> {
    await this.#runs.whenEnded()
    this.#bodies.cutAll(CLOSING)
  }

  #failSecrets(error: PosternError): Outcome {
    this.#shared.reporter.errorSparingly(error)
    const code = error.code === 'secret_unbound' ? 'secret_unbound' : 'secrets_unavailable'
    return { outcome: 'failed', status: 503, code, error }
  }

  #toUnexpected(cause: unknown): Outcome {
    const message = `A delivery could not be taken, because of a defect of its adapter, of its sender's profile, of its host's request or of Postern: ${reasonOf(cause)}`
    const error = new PosternError('unexpected', message, { cause })
    this.#shared.reporter.errorSparingly(error)
    return { outcome: 'failed', status: 500, code: 'unexpected', error }
  }

  #toDelivery(
    startedAt: number,
    source: string | PosternError | undefined,
    waitUntil: EventRequest['waitUntil'],
    watch: Watch | undefined,
    receivedAt = this.#shared.settings.clock.now(),
  ): EventRequest {
    this.#shared.told.used++
    const deadline = startedAt + this.#shared.settings.deadlineMs
    const known = source instanceof PosternError ? undefined : source
    const attempt = UNKNOWN_ATTEMPT
    return { startedAt, deadline, claimBy: deadline, source: known, receivedAt, attempt, waitUntil, watch }
  }

  #elapsedSince(receivedAt: number | undefined): number {
    if (receivedAt === undefined) return 0
    const { clock } = this.#shared.settings
    const elapsedMs = typeof receivedAt === 'number' ? clock.now() - receivedAt : Number.NaN
    if (!(elapsedMs < LONGEST_AGO_MS)) {
      const message = `receive() was given ${show(receivedAt)} as receivedAt. It takes milliseconds since 1970, such as Date.now(); the current time is used instead.`
      this.#shared.reporter.errorOnce(new PosternError('option_invalid', message))
      return 0
    }
    return Math.max(elapsedMs, 0)
  }

  #report(outcome: Outcome, delivery: EventRequest): Outcome {
    const told = this.#shared.settings.protocol.sender === undefined ? outcome : toRetried(outcome)
    this.#shared.reporter.outcome(told, delivery)
    return told
  }

  /** @param unread the request if its body was not read to the end */
  #reply(answer: Outcome, delivery: EventRequest, unread?: DeliveryRequest): Reply {
    const outcome = this.#report(answer, delivery)
    const { isClosing, settings } = this.#shared // a kept connection would keep a closing server waiting
    if (unread === undefined) return toReply(outcome, isClosing, 0)
    const length = declaredLength(unread)
    // HTTP/2 and Fetch may have a body with neither header.
    if (length === undefined && unread.header('transfer-encoding') == null) return toReply(outcome, isClosing, DRAIN_MS)
    const close = isClosing || outcome.status === 408 || length === undefined || length > settings.maxBodyBytes
    const leftMs = Math.max(delivery.deadline - settings.clock.monotonic(), 0)
    return toReply(outcome, close, close ? DRAIN_MS : leftMs)
  }
}
