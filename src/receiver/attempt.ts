import { steeringOf } from '../inbox/steer.ts'
import type { ParsedEvent } from '../protocol/envelope.ts'
import type { HandlerError } from '../protocol/errors.ts'
import type { AnyEvent } from '../protocol/events.ts'
import { type Outcome, toFailed, toOutcome } from '../protocol/outcome.ts'
import { isThenable, refuseUnfinished } from '../protocol/promises.ts'
import type { CheckedData } from '../protocol/schema.ts'
import { quote } from '../protocol/show.ts'
import type { Transact } from '../store/transactional-store.ts'
import { Context, HandlerTransaction } from './context.ts'
import type { Lease } from './lease.ts'
import { makeController } from './make-controller.ts'
import type { Order } from './order.ts'
import type { NamedHandler } from './routes.ts'
import type { AbortCode, Run } from './run.ts'
import type { Shared } from './shared.ts'
import type { RunResult } from './waiting.ts'

/** Time that a handler has to end after its abort, in milliseconds. */
export const GIVE_UP_AFTER_MS = 5_000

/** Result of the handlers of an event, and how to settle its claim. */
export interface AttemptResult extends RunResult {
  /** An abandoned or lost claim is left to expire; only an abandoned one can still store marks. */
  readonly settleBy: 'complete' | 'release' | 'abandon' | 'nothing'
}

interface AttemptStart {
  readonly order: Order | undefined
  readonly marks: readonly string[]
}

/** Runs the handlers of one claimed event; aborts and finally abandons them, and an asynchronous schema, if they take too long. */
export class Attempt {
  readonly #shared: Shared
  readonly #run: Run
  readonly #lease: Lease
  /** Undefined if no handler has an order, or the event cannot be compared. */
  readonly #order: Order | undefined
  /** Names of handlers that have succeeded, in this or an earlier attempt. */
  readonly #finished: string[]
  readonly #failures: { readonly name: string; readonly error: unknown }[] = []
  #transactions: Map<string, HandlerTransaction> | undefined
  #todo: readonly NamedHandler[] = []
  #pending = 0
  #resolveWait: (() => void) | undefined
  #timer: unknown
  #giveUpTimer: unknown
  #abortReason: HandlerError | undefined
  #onWorkerClosed: () => void = ignore
  #controller: AbortController | undefined
  #hasGivenUp = false
  #isOver = false

  constructor(shared: Shared, run: Run, lease: Lease, { order, marks }: AttemptStart) {
    this.#shared = shared
    this.#run = run
    this.#lease = lease
    this.#order = order
    this.#finished = [...marks]
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
    if (this.#transactions === undefined) return [...this.#finished]
    const marks = new Set(this.#finished)
    for (const [name, { isCommitted }] of this.#transactions) if (isCommitted) marks.add(name)
    return [...marks]
  }

  /** Undefined until the schema or the handlers have to stop. */
  get abortReason(): HandlerError | undefined {
    return this.#abortReason
  }

  /** Waits for an asynchronous schema. Resolves with undefined if it is given up. */
  waitFor(checking: Promise<CheckedData>): Promise<CheckedData | undefined> {
    this.#startLimits()
    return new Promise((resolve) => {
      this.#resolveWait = () => resolve(undefined)
      checking.then(resolve)
    })
  }

  toResult(outcome: Outcome, settleBy: AttemptResult['settleBy']): AttemptResult {
    return { outcome: this.#order?.addSkipped(outcome) ?? outcome, settleBy, marks: this.marks }
  }

  /** Begins the handlers that have no mark. Unless all have ended, returns a promise that resolves when they end or are given up. */
  beginHandlers(): Promise<void> | undefined {
    const { route, event } = this.#run
    if (this.#order !== undefined)
      for (const { name } of route.handlers) if (!this.#hasMark(name) && this.#order.isOutdated(name)) this.#skip(name)
    const todo =
      this.#finished.length === 0 ? route.handlers : route.handlers.filter(({ name }) => !this.#hasMark(name))
    this.#todo = todo
    this.#pending = todo.length
    const given = this.#run.give(todo) // before any handler runs
    const depth = this.#shared.beginning.push(this.#run) - 1
    for (const [index, handler] of todo.entries()) this.#begin(handler, given[index] ?? event)
    this.#shared.beginning.length = depth
    if (this.#pending === 0) return undefined
    this.#startLimits()
    if (this.#pending < todo.length) this.#lease.renewNow()
    return new Promise((resolve) => {
      this.#resolveWait = resolve
    })
  }

  /** Returns the result of the handlers, once all have ended or were given up. */
  judge(): AttemptResult {
    const error =
      this.#failures.length === 0 ? undefined : this.#run.toFailure(this.#failures, this.#shared.transact !== undefined)
    // The inbox reports events that their handlers deferred or gave up.
    const isSteered = this.#run.first.item && steeringOf(this.#failures.map((failure) => failure.error)) !== undefined
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

  // ── Handlers ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #begin({ name, call }: NamedHandler, event: ParsedEvent): void {
    const { transact } = this.#shared
    const transaction = transact && this.#openTransaction(name, transact)
    const context = new Context(this, name, this.#run, transaction)
    let result: unknown
    let failure: { readonly error: unknown } | undefined
    let isWaiting = false
    try {
      result = call(event as AnyEvent, context) // model and action were set with the route
      refuseUnfinished(result)
      isWaiting = isThenable(result)
    } catch (error) {
      failure = { error }
    }
    if (isWaiting || transaction?.isBegun) {
      void this.#awaitHandler(name, failure === undefined ? result : Promise.reject(failure.error), transaction)
      return
    }
    transaction?.close()
    this.#pending--
    if (failure === undefined) this.#finished.push(name)
    else this.#failures.push({ name, ...failure })
  }

  async #awaitHandler(name: string, result: unknown, transaction: HandlerTransaction | undefined): Promise<void> {
    let failure: { readonly error: unknown } | undefined
    try {
      refuseUnfinished(await result)
      if (transaction !== undefined) {
        transaction.close()
        await transaction.ended
      }
    } catch (error) {
      failure = { error }
      transaction?.abort(error)
      await transaction?.ended?.catch(ignore)
    }
    if (this.#isOver) return // given up
    if (failure === undefined) this.#finished.push(name)
    else if (transaction?.isOutdated) this.#skip(name)
    else if (transaction?.isCommitted) this.#onThrownAfterCommit(name, failure.error)
    else this.#failures.push({ name, ...failure })
    if (--this.#pending === 0) this.#resolveWait?.()
    else this.#lease.renewNow()
  }

  #onThrownAfterCommit(name: string, thrown: unknown): void {
    this.#finished.push(name)
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
  #startLimits(): void {
    if (this.#timer !== undefined) return
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
      this.#resolveWait?.()
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

  // ── Marks ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A newer event of the record has completed: the handler counts as finished. */
  #skip(name: string): void {
    this.#finished.push(name)
    this.#order?.skip(name)
  }

  #hasMark(name: string): boolean {
    return this.#finished.includes(name) || this.#transactions?.get(name)?.isCommitted === true
  }

  #running(): readonly string[] {
    const ended = new Set([...this.#finished, ...this.#failures.map(({ name }) => name)])
    return this.#todo.map(({ name }) => name).filter((name) => !ended.has(name))
  }
}

const ignore = () => {}
