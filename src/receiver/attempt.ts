import { setMaxListeners } from 'node:events'
import { steeringOf } from '../inbox/steer.ts'
import type { ParsedEvent } from '../protocol/envelope.ts'
import type { HandlerError } from '../protocol/errors.ts'
import type { AnyEvent } from '../protocol/events.ts'
import { type Outcome, toFailed, toOutcome } from '../protocol/outcome.ts'
import { isThenable, refuseUnfinished } from '../protocol/promises.ts'
import { quote } from '../protocol/show.ts'
import type { Transact } from '../store/transactional-store.ts'
import { Context, HandlerTransaction } from './context.ts'
import type { Lease } from './lease.ts'
import type { Order } from './order.ts'
import type { NamedHandler } from './routes.ts'
import type { AbortCode, AttemptResult, Run } from './run.ts'
import type { Shared } from './shared.ts'

/** Time that a handler has to end after its abort, in milliseconds. */
export const GIVE_UP_AFTER_MS = 5_000

/** State of a handler. `skipped`: its event is outdated. */
type HandlerState = 'running' | 'finished' | 'skipped' | { readonly error: unknown }

/** Runs the handlers of one claimed event; aborts and finally abandons them, and an asynchronous schema, if they take too long. */
export class Attempt {
  readonly #shared: Shared
  readonly #run: Run
  readonly #lease: Lease
  /** Undefined if no handler has an order, or the event cannot be compared. */
  readonly #order: Order | undefined
  /** Handlers by name: those that have begun, and those that have finished in an earlier attempt. */
  readonly #handlers = new Map<string, HandlerState>()
  #transactions: Map<string, HandlerTransaction> | undefined
  /** Resolves when the schema or the handlers are given up. Undefined until something is waited for. */
  #givenUp: Promise<undefined> | undefined
  #giveUp: () => void = ignore
  #timer: unknown
  #giveUpTimer: unknown
  #abortReason: HandlerError | undefined
  #onWorkerClosed: () => void = ignore
  #controller: AbortController | undefined
  #hasGivenUp = false
  #isOver = false

  /** @param marks names of the handlers that have finished in an earlier attempt */
  constructor(shared: Shared, run: Run, lease: Lease, order: Order | undefined, marks: readonly string[]) {
    this.#shared = shared
    this.#run = run
    this.#lease = lease
    this.#order = order
    for (const name of marks) this.#handlers.set(name, 'finished')
  }

  /** Aborts when the handlers' time is over or another process has the event. Created when a handler first reads it. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = makeController()
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason)
    }
    return this.#controller.signal
  }

  /** Names of the handlers that have finished. A handler whose transaction is committed has finished, even if it still runs. */
  get marks(): readonly string[] {
    const marks: string[] = []
    for (const name of this.#handlers.keys()) if (this.#hasMark(name)) marks.push(name)
    return marks
  }

  /** Undefined until the schema or the handlers have to stop. */
  get abortReason(): HandlerError | undefined {
    return this.#abortReason
  }

  /** Waits for the schema or the handlers. Resolves with undefined if they are given up. */
  waitFor<T>(work: Promise<T>): Promise<T | undefined> {
    this.#givenUp ??= this.#startLimits()
    return Promise.race([work, this.#givenUp])
  }

  toResult(outcome: Outcome, settleBy: AttemptResult['settleBy']): AttemptResult {
    return { outcome: this.#order?.addSkipped(outcome) ?? outcome, settleBy, marks: this.marks }
  }

  /** Begins the handlers that have no mark. Unless all have ended, returns a promise that resolves when they end or are given up. */
  beginHandlers(): Promise<unknown> | undefined {
    const { route, event } = this.#run
    const { beginning } = this.#shared
    if (this.#order !== undefined)
      for (const { name } of route.handlers) if (!this.#hasMark(name) && this.#order.isOutdated(name)) this.#skip(name)
    const todo = this.#handlers.size === 0 ? route.handlers : route.handlers.filter(({ name }) => !this.#hasMark(name))
    const given = this.#run.give(todo) // before any handler runs
    for (const { name } of todo) this.#handlers.set(name, 'running')
    const running: Promise<void>[] = []
    beginning.push(this.#run)
    try {
      for (const [index, handler] of todo.entries()) {
        const ended = this.#begin(handler, given[index] ?? event)
        if (ended !== undefined) running.push(ended)
      }
    } finally {
      beginning.pop()
    }
    if (running.length === 0) return undefined
    const waiting = this.waitFor(Promise.all(running))
    if (running.length < todo.length) this.#lease.renewNow()
    return waiting
  }

  /** Returns the result of the handlers, once all have ended or were given up. */
  judge(): AttemptResult {
    const failures: { readonly name: string; readonly error: unknown }[] = []
    for (const [name, state] of this.#handlers) if (isFailed(state)) failures.push({ name, error: state.error })
    const error = failures.length === 0 ? undefined : this.#run.toFailure(failures, this.#shared.transact !== undefined)
    // The inbox reports events that their handlers deferred or gave up.
    const isSteered = this.#run.first.item && steeringOf(failures.map((failure) => failure.error)) !== undefined
    // A closing worker stopped them.
    const isStopped = this.#abortReason?.code === 'worker_closed'
    if (error !== undefined && !isSteered && !isStopped) this.#report(error)
    const abandoned = this.#hasGivenUp ? this.#judgeAbandoned() : undefined
    if (abandoned !== undefined) return abandoned
    if (this.#abortReason?.code === 'lease_lost')
      return this.toResult(toFailed(503, 'lease_lost', this.#abortReason, this.#run), 'nothing')
    if (error === undefined) return this.toResult(toOutcome('handled', this.#run), 'complete')
    return this.toResult(toFailed(500, 'handler_failed', error, this.#run), 'release')
  }

  /** Ends the attempt. Handlers that still run cannot affect it any more. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#timer !== undefined) this.#shared.settings.clock.clearTimeout(this.#timer)
    if (this.#giveUpTimer !== undefined) this.#shared.settings.clock.clearTimeout(this.#giveUpTimer)
    this.#run.first.item?.signal.removeEventListener('abort', this.#onWorkerClosed)
  }

  /** Calls a handler. Unless it has ended, returns a promise that resolves when it does. */
  #begin({ name, call }: NamedHandler, event: ParsedEvent): Promise<void> | undefined {
    const { transact } = this.#shared
    const transaction = transact && this.#openTransaction(name, transact)
    const { first, text } = this.#run
    const rawBody = text && this.#shared.settings.protocol.toSigned(text)
    const context = new Context(this, name, first, rawBody, transaction)
    let state: HandlerState = 'finished'
    let waiting: PromiseLike<unknown> | undefined
    try {
      const result = refuseUnfinished(call(event as AnyEvent, context)) // model and action were set with the route
      if (isThenable(result)) waiting = result
    } catch (error) {
      state = { error }
    }
    if (waiting === undefined && transaction?.isBegun)
      waiting = isFailed(state) ? Promise.reject(state.error) : Promise.resolve()
    if (waiting !== undefined) return this.#awaitHandler(name, waiting, transaction)
    transaction?.close()
    this.#handlers.set(name, state)
    return undefined
  }

  async #awaitHandler(
    name: string,
    result: PromiseLike<unknown>,
    transaction: HandlerTransaction | undefined,
  ): Promise<void> {
    let state: HandlerState = 'finished'
    try {
      refuseUnfinished(await result)
      if (transaction !== undefined) {
        transaction.close()
        await transaction.ended
      }
    } catch (error) {
      state = { error }
      transaction?.abort(error)
      await transaction?.ended?.catch(ignore)
    }
    if (this.#isOver) return // given up
    if (isFailed(state) && transaction?.isOutdated) return this.#skip(name)
    if (isFailed(state) && transaction?.isCommitted) {
      this.#onThrownAfterCommit(name, state.error)
      state = 'finished'
    }
    this.#handlers.set(name, state)
    if (this.#order !== undefined && this.#running().length > 0) this.#lease.renewNow()
  }

  #onThrownAfterCommit(name: string, thrown: unknown): void {
    const message = `The handler ${name} of ${quote(this.#run.type)} threw after its transaction had been committed. It counts as finished.`
    this.#report(this.#run.toError('handler_failed', message, [name], thrown))
  }

  #openTransaction(name: string, transact: Transact): HandlerTransaction {
    const position = this.#order?.positionOf(name)
    const transaction = new HandlerTransaction({
      commit: (signal, work, onThrown) =>
        transact(this.#lease.toTransactionClaim(name, signal, position), work, onThrown),
      refuse: (why) => {
        const message = `context.transaction() of the handler ${name} ${why}`
        return this.#report(this.#run.toError('transaction_misused', message, [name]))
      },
      onLeaseLost: () => this.#abort('lease_lost'),
    })
    this.#transactions ??= new Map()
    this.#transactions.set(name, transaction)
    return transaction
  }

  #report(error: HandlerError): HandlerError {
    this.#shared.reporter.error(error, this.#isOver ? undefined : this.#run.first)
    return error
  }

  // ── Abort and abandonment ────────────────────────────────────────────────────────────────────────────────────────

  /** Starts to renew the claim and to limit the time, once the schema or a handler does not end synchronously. */
  #startLimits(): Promise<undefined> {
    const { settings } = this.#shared
    const { item } = this.#run.first
    if (item !== undefined) void this.#awaitClosing(item.signal)
    const timeout = new Promise<void>((resolve) => {
      this.#timer = settings.clock.setTimeout(resolve, settings.handlerTimeoutMs)
    })
    void timeout.then(() => this.#abort('handler_timeout')) // in the async context of the delivery, also on a manual clock
    this.#lease.startRenewing(
      () => this.marks,
      () => this.#abort('lease_lost'),
    )
    return new Promise((resolve) => {
      this.#giveUp = () => resolve(undefined)
    })
  }

  /** Continues in the async context of the try, not in that of the call of `close`. */
  async #awaitClosing(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#onWorkerClosed = resolve
      signal.addEventListener('abort', this.#onWorkerClosed)
    })
    this.#abort('worker_closed')
  }

  /** Signals running handlers to stop. After `lease_lost`, the results of this process do not count. */
  #abort(code: AbortCode): void {
    if (this.#isOver || this.#abortReason?.code === 'lease_lost') return
    const { settings } = this.#shared
    const isFirst = this.#abortReason === undefined
    this.#abortReason = this.#report(this.#run.toAbortReason(code, settings.handlerTimeoutMs, this.#running()))
    this.#controller?.abort(this.#abortReason)
    if (!isFirst) return // a second reason to stop grants no more time than the first
    this.#giveUpTimer = settings.clock.setTimeout(() => {
      this.#hasGivenUp = true
      this.#giveUp()
    }, GIVE_UP_AFTER_MS)
  }

  /** Returns undefined if all handlers that still run have committed their transactions. */
  #judgeAbandoned(): AttemptResult | undefined {
    const names = this.#running()
    if (names.length === 0) return undefined // the last one ended in the same moment
    const message = `Handlers did not end within ${GIVE_UP_AFTER_MS} ms of their abort: ${names.join(', ')}. Pass context.signal to what they wait for.`
    const error = this.#report(this.#run.toError('handler_abandoned', message, names, this.#abortReason))
    for (const transaction of this.#transactions?.values() ?? []) transaction.abort(error)
    if (names.every((name) => this.#hasMark(name))) return undefined
    const settleBy = this.#abortReason?.code === 'lease_lost' ? 'nothing' : 'abandon'
    return this.toResult(toFailed(500, 'handler_abandoned', error, this.#run), settleBy)
  }

  /** A newer event of the record has completed: the handler counts as finished. */
  #skip(name: string): void {
    this.#handlers.set(name, 'skipped')
    this.#order?.skip(name)
  }

  #hasMark(name: string): boolean {
    const state = this.#handlers.get(name)
    return state === 'finished' || state === 'skipped' || this.#transactions?.get(name)?.isCommitted === true
  }

  #running(): readonly string[] {
    return [...this.#handlers].flatMap(([name, state]) => (state === 'running' ? name : []))
  }
}

function isFailed(state: HandlerState): state is { readonly error: unknown } {
  return typeof state === 'object'
}

/** Makes a controller whose signal any number of handlers may pass on: Node takes eleven listeners for a leak. */
function makeController(): AbortController {
  const controller = new AbortController()
  try {
    setMaxListeners(0, controller.signal)
  } catch {
    // Some hosts take event emitters only.
  }
  return controller
}

const ignore = () => {}
