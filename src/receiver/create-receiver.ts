import { checkEnvelope, type ParsedEvent } from '../protocol/envelope.ts'
import { ConfigurationError, PosternError } from '../protocol/errors.ts'
import type { EventSchemas, ModelSchemas, NoEvents, OpenModels, WebhookEvent } from '../protocol/events.ts'
import { checkHead, checkSignatureForm, declaredLength } from '../protocol/head.ts'
import { type Outcome, Rejection } from '../protocol/outcome.ts'
import { type HeaderValue, onlyValue, SIGNATURE_HEADER } from '../protocol/signature.ts'
import type { Store } from '../store/store.ts'
import { Dispatcher } from './dispatcher.ts'
import type { ContextOf, Handler, HandlerOptions } from './handler.ts'
import { checkOptions, type ReceiverOptions, type Settings } from './options.ts'
import { toRejected } from './outcomes.ts'
import type { CloseResult, ReceivedDelivery, Receiver } from './receiver.ts'
import type { BodyFailure, DeliveryRequest } from './receives.ts'
import { type Reply, toReply } from './reply.ts'
import { Reporter } from './reporter.ts'
import { type EventTypes, type Interceptor, Routes } from './routes.ts'
import type { Delivery } from './run-host.ts'
import { Authenticator } from './secrets.ts'
import { isThenable } from './within.ts'

/**
 * Makes a receiver. All options are checked here, at once.
 *
 * @throws ConfigurationError `option_unknown`, `option_invalid`, `secret_unusable`, `store_shared`
 * @example
 * const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET, models: { contact } })
 * receiver.on('contact.created', async (event) => { await welcome(event.data.record.email) })
 */
export function createReceiver<
  M extends ModelSchemas = OpenModels,
  E extends EventSchemas = NoEvents,
  S extends Store = Store,
>(options: ReceiverOptions<M, E, S>): Receiver<M, E, ContextOf<S>> {
  return new MountedReceiver(checkOptions(options)) as Receiver<M, E, ContextOf<S>> // the three exist in types only; see Routes for their checks at run time
}

const STOP_DRAINING_MS = 2_000
const BODY_REJECTIONS = {
  body_too_large: new Rejection('body_too_large', 'The body is over maxBodyBytes.'),
  body_incomplete: new Rejection(
    'body_incomplete',
    'The connection ended before the body did, or the body was not of its declared length.',
  ),
  body_timeout: new Rejection('body_timeout', 'The body was not complete by the deadline.'),
}

class MountedReceiver {
  readonly #settings: Settings
  readonly #routes: Routes
  readonly #reporter: Reporter
  readonly #authenticator: Authenticator
  readonly #dispatcher: Dispatcher

  constructor(settings: Settings) {
    this.#settings = settings
    this.#authenticator = new Authenticator(settings.secret, settings.clock)
    this.#routes = new Routes(settings.models, settings.events)
    this.#reporter = new Reporter(settings)
    this.#dispatcher = new Dispatcher(settings, this.#routes, this.#reporter)
    takeName(settings.store, settings.name, this)
    settings.store.reportTo?.(this.#reporter.logger)
  }

  on(pattern: string, optionsOrHandler: HandlerOptions | Handler<never, never>, handler?: Handler<never, never>): this {
    if (handler === undefined) this.#routes.add(pattern, {}, optionsOrHandler)
    else this.#routes.add(pattern, optionsOrHandler as HandlerOptions, handler) // three arguments: the second one is options
    return this
  }

  intercept(interceptor: Interceptor): this {
    this.#routes.intercept(interceptor)
    return this
  }

  eventTypes(): EventTypes {
    return this.#routes.eventTypes()
  }

  async handle(request: DeliveryRequest): Promise<Reply> {
    const startedAt = this.#settings.clock.monotonic()
    let source: string | undefined
    let sourceFailure: PosternError | undefined
    try {
      source = request.source?.()
    } catch (cause) {
      sourceFailure = new PosternError('secrets_unavailable', "The adapter's source option threw.", { cause })
    }
    const delivery: Delivery = { startedAt, source, waitUntil: request.waitUntil }
    const refusal = this.#refuseClosed() ?? checkHead(request, this.#settings.maxBodyBytes)
    if (refusal !== undefined) return this.#reply(toOutcome(refusal), delivery, request)
    if (sourceFailure !== undefined) return this.#reply(this.#secretsFailed(sourceFailure), delivery, request)
    const reading = this.#read(request, delivery)
    const body = reading instanceof Promise ? await reading : reading
    if (!(body instanceof Uint8Array)) return this.#reply(body, delivery, request)
    const outcome = this.#verifyAndDispatch(body, onlyValue(request.header(SIGNATURE_HEADER)) ?? '', delivery)
    return this.#reply(outcome instanceof Promise ? await outcome : outcome, delivery)
  }

  async receive({ body, signature, source, receivedAt, waitUntil }: ReceivedDelivery): Promise<Outcome> {
    const delivery: Delivery = { startedAt: this.#startOf(receivedAt), source, waitUntil }
    const refusal = this.#refuseBytes(body, signature)
    if (refusal !== undefined) return this.#report(refusal, delivery)
    const outcome = this.#verifyAndDispatch(body, onlyValue(signature) ?? '', delivery)
    return this.#report(outcome instanceof Promise ? await outcome : outcome, delivery)
  }

  async dispatch(event: WebhookEvent<string, unknown>): Promise<Outcome> {
    const copy = checkEnvelope({ ...event })
    if (copy instanceof Rejection)
      throw new PosternError('event_invalid', `dispatch() was given something that is not an event: ${copy.reason}`)
    const delivery: Delivery = { startedAt: this.#startOf(undefined), source: undefined, waitUntil: undefined }
    return this.#report(await this.#dispatcher.dispatch(copy, delivery), delivery)
  }

  async close({ timeoutMs = 10_000 }: { readonly timeoutMs?: number } = {}): Promise<CloseResult> {
    this.#dispatcher.isClosing = true
    await this.#dispatcher.drain(timeoutMs)
    releaseName(this.#settings.store, this.#settings.name, this)
    return { unfinished: this.#dispatcher.runsUnderWay }
  }

  /** While events are under way, a copy of one of them may still join it; the dispatcher refuses all others. */
  #refuseClosed(): Outcome | undefined {
    return this.#dispatcher.isClosing && this.#dispatcher.runsUnderWay === 0
      ? { outcome: 'closing', status: 503 }
      : undefined
  }

  #refuseBytes(body: unknown, signature: HeaderValue): Outcome | undefined {
    if (!(body instanceof Uint8Array))
      return this.#consumed(
        'receive() needs the exact bytes of the body as a Uint8Array or Buffer, not text or a parsed object.',
      )
    const closed = this.#refuseClosed()
    if (closed !== undefined) return closed
    const isTooLarge = body.length > this.#settings.maxBodyBytes
    const refusal = isTooLarge ? BODY_REJECTIONS.body_too_large : checkSignatureForm(signature)
    return refusal && toRejected(refusal)
  }

  /** The exact bytes, or the outcome of a body that could not be had by the deadline. */
  #read(request: DeliveryRequest, delivery: Delivery): Uint8Array | Outcome | Promise<Uint8Array | Outcome> {
    const { clock, maxBodyBytes } = this.#settings
    let reading: Uint8Array | BodyFailure | Promise<Uint8Array | BodyFailure>
    try {
      reading = request.read(maxBodyBytes)
    } catch {
      return toRejected(BODY_REJECTIONS.body_incomplete)
    }
    if (!isThenable(reading)) return this.#toBytes(reading)
    const body = reading
    return new Promise((resolve) => {
      const timer = clock.setTimeout(() => resolve(toRejected(BODY_REJECTIONS.body_timeout)), this.#left(delivery))
      const settle = (answer: Uint8Array | Outcome) => {
        clock.clearTimeout(timer)
        resolve(answer)
      }
      body.then(
        (read) => settle(this.#toBytes(read)),
        () => settle(toRejected(BODY_REJECTIONS.body_incomplete)),
      )
    })
  }

  #toBytes(body: Uint8Array | BodyFailure | undefined): Uint8Array | Outcome {
    if (body instanceof Uint8Array)
      return body.length > this.#settings.maxBodyBytes ? toRejected(BODY_REJECTIONS.body_too_large) : body
    // An adapter of one's own may be plain JavaScript, and give nothing.
    const { failure, fix = "The adapter's read() gave neither bytes nor a failure." } = body ?? {
      failure: 'body_consumed',
    }
    return failure === 'body_too_large' || failure === 'body_incomplete'
      ? toRejected(BODY_REJECTIONS[failure])
      : this.#consumed(fix)
  }

  /** Stops 3 to 10. Goes through without waiting where secrets, store and handlers do. */
  #verifyAndDispatch(body: Uint8Array, signature: string, delivery: Delivery): Outcome | Promise<Outcome> {
    const { source, startedAt } = delivery
    let verified: ParsedEvent | Rejection | Promise<ParsedEvent | Rejection>
    try {
      verified = this.#authenticator.authenticate(body, signature, source, startedAt + this.#settings.deadlineMs)
    } catch (error) {
      return this.#secretsFailed(error as PosternError) // authenticate throws nothing else
    }
    if (!(verified instanceof Promise)) return this.#dispatch(verified, delivery)
    return verified.then(
      (event) => this.#dispatch(event, delivery),
      (error: PosternError) => this.#secretsFailed(error),
    )
  }

  #dispatch(verified: ParsedEvent | Rejection, delivery: Delivery): Outcome | Promise<Outcome> {
    return verified instanceof Rejection ? toRejected(verified) : this.#dispatcher.dispatch(verified, delivery)
  }

  #secretsFailed(error: PosternError): Outcome {
    this.#reporter.strangersError(error)
    return { outcome: 'failed', status: 503, code: 'secrets_unavailable', error }
  }

  #consumed(fix: string): Outcome {
    const error = new PosternError(
      'body_consumed',
      `The body had been read before the receiver could, so its signature cannot be checked. ${fix}`.trim(),
    )
    this.#reporter.errorOnce(error)
    return { outcome: 'error', status: 500, code: 'body_consumed', error }
  }

  /** On the monotonic clock; what is not a time of the past counts as now. */
  #startOf(receivedAt: number | undefined): number {
    const { clock, deadlineMs } = this.#settings
    const elapsedMs = receivedAt === undefined ? 0 : clock.now() - receivedAt
    return clock.monotonic() - (elapsedMs > 0 ? Math.min(elapsedMs, deadlineMs) : 0)
  }

  #left({ startedAt }: Delivery): number {
    return Math.max(startedAt + this.#settings.deadlineMs - this.#settings.clock.monotonic(), 0)
  }

  #report(outcome: Outcome, { source, startedAt }: Delivery): Outcome {
    this.#reporter.outcome(outcome, source, startedAt)
    return outcome
  }

  /** `unread` is the request where its body, or the rest of it, was not read. */
  #reply(outcome: Outcome, delivery: Delivery, unread?: DeliveryRequest): Reply {
    this.#report(outcome, delivery)
    if (unread === undefined) return toReply(outcome, false, 0)
    // HTTP/2 and Fetch may have a body with neither header; where there really is none, there is nothing to drain either.
    if (isUndeclared(unread)) return toReply(outcome, false, STOP_DRAINING_MS)
    const length = declaredLength(unread)
    const close = length === undefined || length > this.#settings.maxBodyBytes || outcome.status === 408
    return toReply(outcome, close, close ? STOP_DRAINING_MS : this.#left(delivery))
  }
}

function toOutcome(refusal: Rejection | Outcome): Outcome {
  return refusal instanceof Rejection ? toRejected(refusal) : refusal
}

function isUndeclared(request: DeliveryRequest): boolean {
  return declaredLength(request) === undefined && request.header('transfer-encoding') == null
}

/** Two receivers of one name would take each other's events for duplicates. */
const namesByStore = new WeakMap<Store, Map<string, object>>()

function takeName(store: Store, name: string, receiver: object): void {
  const names = namesByStore.get(store) ?? new Map<string, object>()
  if (names.has(name))
    throw new ConfigurationError(
      'store_shared',
      `A receiver named "${name}" stands on this store already, and each would take the other's events for duplicates. Give one of them another name: createReceiver({ name: '…' }). A receiver that is closed gives its name back.`,
    )
  namesByStore.set(store, names.set(name, receiver))
}

/** Only what it holds itself: a receiver that is closed twice must not free the name of its successor. */
function releaseName(store: Store, name: string, receiver: object): void {
  const names = namesByStore.get(store)
  if (names?.get(name) === receiver) names.delete(name)
}
