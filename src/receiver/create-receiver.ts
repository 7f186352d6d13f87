import { LONGEST_TIMER_MS } from '../host/clock.ts'
import { readNodeEnv } from '../host/node-env.ts'
import { checkRetries, type WorkOptions } from '../inbox/retries.ts'
import { checkLimits, type WorkedOnce, type WorkOnceOptions, workOnce } from '../inbox/work-once.ts'
import { startWorker, type Worker, type WorkerParts } from '../inbox/worker.ts'
import { ConfigurationError, type PosternError } from '../protocol/errors.ts'
import type { EventSchemas, ModelSchemas, NoEvents, OpenModels, WebhookEvent } from '../protocol/events.ts'
import { checkMs, OptionChecker } from '../protocol/option-checker.ts'
import type { Outcome, Reply } from '../protocol/outcome.ts'
import { type NameHolder, releaseName, takeName } from '../store/names.ts'
import type { Store } from '../store/store.ts'
import type { DeliveryRequest } from './adapter.ts'
import { GIVE_UP_AFTER_MS } from './attempt.ts'
import { DeliveryPath } from './deliver.ts'
import { forget } from './forget.ts'
import type { ContextOf } from './handler.ts'
import { createItemRunner } from './inbox-path.ts'
import type { Interceptor } from './intercept.ts'
import { leave, warnOfNeighbours } from './neighbours.ts'
import { OBSERVE, type Observable, type Observer, type ReceiverView } from './observer.ts'
import { checkReceiverOptions, type ReceiverOptions, type ReceiverSettings } from './options.ts'
import type { CloseResult, DispatchOptions, GivenDelivery, Receiver, ReceiverWorker } from './receiver.ts'
import { Reporter } from './reporter.ts'
import { type EventTypes, Routes } from './routes.ts'
import { Runs } from './runs.ts'
import { Shared } from './shared.ts'

const NO_ADAPTER =
  'receiver.handle() was given the request of a framework, and cannot write the answer to it: mount expressHandler(receiver), or the adapter of that framework; for a Request of Fetch, fetchHandler(receiver).'
const NO_INBOX =
  'receiver.work() runs the events of an inbox, and this receiver has none: createReceiver({ inbox: sqliteInbox({ database }) }). Without an inbox handlers run before the answer, and no worker is needed.'
const HAS_WORKER =
  'receiver.work: this receiver has a worker already, which has not been closed. Give that one a higher concurrency: an event that killed its process has to run alone, and a second worker would not know that.'
const CLOSED = 'this receiver is closed, and handles nothing any more. Create a new one.'
const REPLACED =
  'A newer receiver has replaced an older one with the same name and store, since NODE_ENV is "development": its module was reloaded. In production this is an error.'
const HAS_OBSERVER =
  'instrument: this receiver is instrumented already, and everything would be counted twice. Call instrument() once for each receiver, or stop() the first one before.'
const HASTY =
  'receiver.work: delay returns less than 1,000 for each retry, so that all tries are over in seconds. It returns milliseconds: multiply seconds by 1_000.'
const SHORT_FORM =
  'workOnce: forMs is less than handlerTimeoutMs, so that an event whose handler hangs is tried again for ever. Give a longer forMs, or createReceiver a shorter handlerTimeoutMs.'
/** Default `timeoutMs` of `close`. */
const CLOSE_TIMEOUT_MS = 10_000
/** A shorter one that cuts work off was probably given in seconds. */
const LEAST_TIMEOUT_MS = 100

/**
 * Creates a receiver, and checks all options.
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
>(options: ReceiverOptions<M, E, S>): Receiver<M, E, ContextOf<S>>
// The type parameters concern handlers only; patterns and schemas are also checked at run time.
export function createReceiver(options: ReceiverOptions<ModelSchemas, EventSchemas>, next?: unknown): unknown {
  return new WebhookReceiver(checkReceiverOptions(options, next))
}

/** A receiver of any sender. What it takes is checked at run time; the types of `on` and `receive` are those of its maker. */
export class WebhookReceiver implements NameHolder, Observable {
  readonly #routes: Routes
  readonly #shared: Shared
  readonly #runs: Runs
  readonly #path: DeliveryPath
  readonly #items: ReturnType<typeof createItemRunner>
  #worker: Worker | undefined
  /** Settles when the last call of `workOnce` has ended, if one is under way. */
  #once: Promise<void> | undefined

  constructor(settings: ReceiverSettings) {
    this.#shared = new Shared(settings, new Reporter(settings))
    const { logger } = this.#shared.reporter
    for (const doubt of settings.doubts) this.#shared.reporter.warnOnce(doubt)
    this.#routes = new Routes(settings, logger)
    this.#runs = new Runs(this.#shared)
    this.#path = new DeliveryPath(this.#shared, this.#routes, this.#runs)
    this.#items = createItemRunner(this.#shared, this.#routes, this.#runs)
    const older = takeName(settings.store, settings.name, this)
    if (older !== undefined) {
      logger.warn({ code: 'store_shared', receiver: settings.name }, REPLACED)
      older.replaced()
    }
    settings.store.reportTo?.(logger)
    settings.inbox?.reportTo?.(logger)
    warnOfNeighbours(this.#shared)
  }

  /** Closes the worker, since a newer receiver handles the inbox. Deliveries that still arrive here are handled. */
  replaced(): void {
    if (this.#worker !== undefined) void this.#closeWorker(this.#worker, CLOSE_TIMEOUT_MS)
  }

  on(pattern: unknown, ...rest: readonly unknown[]): this {
    const [options, handler, next] = rest.length > 1 ? rest : [{}, rest[0]]
    const check = new OptionChecker('.on()')
    if (this.#shared.isClosing) throw check.invalid(CLOSED)
    check.mustEnd(next, 'register each handler by a call of its own, with a name')
    this.#routes.add(pattern, options, handler)
    return this
  }

  intercept(interceptor: Interceptor, next?: unknown): this {
    this.#routes.intercept(interceptor)
    new OptionChecker('.intercept()').mustEnd(next, 'register each interceptor by a call of its own')
    return this
  }

  eventTypes(): EventTypes {
    return this.#routes.eventTypes()
  }

  [OBSERVE](observer: Observer): ReceiverView {
    const { reporter, settings } = this.#shared
    if (reporter.observer !== undefined && readNodeEnv() !== 'development')
      throw new ConfigurationError('option_invalid', HAS_OBSERVER)
    reporter.observer?.onReplaced()
    reporter.observer = observer
    const runs = this.#runs
    return {
      name: settings.name,
      inbox: settings.inbox,
      get inFlight() {
        return runs.size
      },
      stop: () => {
        if (reporter.observer === observer) reporter.observer = undefined
      },
    }
  }

  // Properties, so that they can be destructured: const { receive } = receiver
  readonly handle = (request: DeliveryRequest): Promise<Reply> => {
    // The request of a host may have methods of these names too, but it is a stream and has `pipe`.
    if (typeof request?.header !== 'function' || typeof request.read !== 'function' || 'pipe' in request)
      throw new ConfigurationError('option_invalid', NO_ADAPTER)
    return this.#shared.reporter.watch('delivery', (watch) => this.#path.handle(request, watch))
  }

  readonly report = (error: PosternError): void => this.#shared.reporter.errorOnce(error)

  readonly receive = (delivery: GivenDelivery, next?: unknown): Promise<Outcome> =>
    this.#shared.reporter.watch('delivery', (watch) => this.#path.receive(delivery, next, watch))
  readonly dispatch = (event: WebhookEvent<string, unknown>, options?: DispatchOptions): Promise<Outcome> =>
    this.#path.dispatch(event, options)

  readonly forget = (event: Pick<WebhookEvent, 'accountKey' | 'id'>): Promise<boolean> => forget(this.#shared, event)

  readonly work = (options: WorkOptions = {}): ReceiverWorker => {
    const parts = this.#toWorkerParts(options, 'work')
    if (this.#worker !== undefined || this.#once !== undefined)
      throw new ConfigurationError('option_invalid', HAS_WORKER)
    const worker = this.#onBegun(startWorker(parts))
    const close: ReceiverWorker['close'] = (closing = {}) =>
      this.#closeWorker(worker, this.#toTimeout('worker.close', closing))
    return { close, [Symbol.asyncDispose]: async () => void (await close()) }
  }

  readonly workOnce = async (options: WorkOnceOptions): Promise<WorkedOnce> => {
    const { limits, work } = checkLimits(options, this.#shared.settings.clock.monotonic())
    const parts = this.#toWorkerParts(work, 'workOnce')
    const before = this.#once
    if (before === undefined && this.#worker !== undefined) throw new ConfigurationError('option_invalid', HAS_WORKER)
    const { reporter, settings } = this.#shared
    if (options.forMs < settings.handlerTimeoutMs) reporter.warnOnce(SHORT_FORM)
    const once = (before ?? Promise.resolve()).then(() => workOnce(parts, limits, (worker) => this.#onBegun(worker)))
    const ended = once.then(ignore, ignore).then(() => {
      if (this.#once === ended) this.#once = this.#worker = undefined
    })
    this.#once = ended
    return once
  }

  #onBegun(worker: Worker): Worker {
    this.#worker = worker
    this.#shared.hasWorked = true
    if (this.#shared.isClosing) void this.#closeWorker(worker, 0) // in a closed receiver it would take items and return them, for ever
    return worker
  }

  #toWorkerParts(options: WorkOptions, method: string): WorkerParts {
    const { reporter, settings } = this.#shared
    const { inbox, leaseMs, clock, handlerTimeoutMs, onDeadLetter } = settings
    if (inbox === undefined) throw new ConfigurationError('no_inbox', NO_INBOX)
    if (this.#shared.isClosing) throw new OptionChecker(`receiver.${method}`).invalid(CLOSED)
    const { retentionMs } = settings.store
    const retries = checkRetries(options, retentionMs, handlerTimeoutMs + GIVE_UP_AFTER_MS)
    if (retries.isHasty) reporter.warnOnce(HASTY)
    return {
      inbox,
      retries,
      clock,
      leaseMs,
      retentionMs,
      run: (item) => reporter.watch(item, (watch) => this.#items.run(item, retries.attempts, watch)),
      recall: (item) => this.#items.recall(item),
      report: (error) => reporter.error(error),
      tell: (line) => reporter.tell(line),
      onDeadLetter: (item, error) => onDeadLetter && reporter.callHook('onDeadLetter', onDeadLetter, item, error),
      onSettled: (item, settlement) => reporter.observer?.onSettled(item, settlement),
      onStalled: (item) => reporter.observer?.onStalled(item),
    }
  }

  readonly close = async (options: { readonly timeoutMs?: number } = {}): Promise<CloseResult> => {
    const { activity, settings, reporter } = this.#shared
    if (!this.#shared.isClosing) leave(this.#shared)
    this.#shared.isClosing = true
    const timeoutMs = this.#toTimeout('close', options)
    void this.#path.close() // it cuts bodies; `drain` below waits for their answers
    await Promise.all([
      activity.drain(settings.clock, timeoutMs),
      this.#worker && this.#closeWorker(this.#worker, timeoutMs),
      this.#once,
    ])
    releaseName(settings.store, settings.name, this)
    const unfinished = this.#runs.size + this.#shared.untakenMarks
    if (unfinished > 0 && timeoutMs > 0 && timeoutMs < LEAST_TIMEOUT_MS)
      reporter.warnOnce(
        `close(): timeoutMs is ${timeoutMs} milliseconds, too few for what was under way: multiply seconds by 1_000.`,
      )
    return { unfinished }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #closeWorker(worker: Worker, timeoutMs: number): Promise<CloseResult> {
    this.#shared.hasWorked = false
    const unfinished = await worker.close(timeoutMs)
    if (this.#worker === worker) this.#worker = undefined
    return { unfinished }
  }

  /** Returns the option `timeoutMs`. An invalid one is reported, and the default used: a process that is about to exit cannot call again. */
  #toTimeout(method: string, options: unknown): number {
    try {
      return checkMs(method, 'timeoutMs', options, CLOSE_TIMEOUT_MS, LONGEST_TIMER_MS)
    } catch (error) {
      this.#shared.reporter.error(error as ConfigurationError) // nothing else is thrown
      return CLOSE_TIMEOUT_MS
    }
  }
}

const ignore = () => {}
