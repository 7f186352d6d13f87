import { hasRecord, type ParsedEvent } from '../protocol/envelope.ts'
import { HandlerError, PosternError } from '../protocol/errors.ts'
import type { AnyEvent } from '../protocol/events.ts'
import { type Outcome, Rejection } from '../protocol/outcome.ts'
import { type Checked, checkData } from '../protocol/schema.ts'
import { type ContextOwner, TransactingContext, WorkContext } from './context.ts'
import { toEventOutcome, toFailed, toRejected } from './outcomes.ts'
import type { NamedHandler, Route } from './routes.ts'
import type { RunHost } from './run-host.ts'
import { quote } from './show.ts'
import { isThenable } from './within.ts'

/** How long after its abort a handler is still waited for, in milliseconds. */
const ABANDON_AFTER_MS = 5_000

const NO_RECORD: Checked = { issues: [{ path: 'data.record', message: 'Expected an object with a string "_id".' }] }

/** What the claim is to be settled by. An abandoned or a lost one is left to run out, and only the former can still keep marks. */
export type Settlement = 'complete' | 'release' | 'abandon' | 'nothing'

/** What the work tells whoever began it, each once at most, and what it asks of him. */
export interface WorkListener {
  /** The work was not over at once: from here on it takes time. */
  onPending(finished: readonly string[]): void
  onEnd(verdict: Outcome, settleBy: Settlement, finished: readonly string[]): void
  /** A transaction of the store, under the claim. */
  transact(mark: string, signal: AbortSignal, work: (tx: never) => unknown): Promise<unknown>
}

/** Schema and handlers of one claimed event, with their abort and, in the end, their abandonment. */
export class Work implements ContextOwner {
  /** Names of the handlers that have finished, in this attempt or earlier ones. */
  readonly finished: string[]
  readonly #host: RunHost
  readonly #event: ParsedEvent
  readonly #route: Route
  readonly #source: string | undefined
  readonly #listener: WorkListener
  #failures: { readonly name: string; readonly error: unknown }[] | undefined
  #todo: readonly NamedHandler[] = []
  #pending = 0
  #contexts: TransactingContext[] | undefined
  /** Handlers that run on after their transaction was committed. */
  #tails: Set<string> | undefined
  #isOver = false
  #timer: unknown
  #abortReason: HandlerError | undefined
  #controller: AbortController | undefined

  constructor(
    host: RunHost,
    event: ParsedEvent,
    route: Route,
    source: string | undefined,
    marks: readonly string[],
    listener: WorkListener,
  ) {
    this.#host = host
    this.#event = event
    this.#route = route
    this.#source = source
    this.#listener = listener
    this.finished = [...marks]
  }

  /** Goes as far as it can without waiting. */
  start(): void {
    this.#check()
    if (this.#isOver) return
    // Handlers that end within this turn of the event loop never cost a timer.
    queueMicrotask(() => {
      if (this.#isOver) return
      this.#listener.onPending(this.finished)
      this.#timer = this.#host.clock.setTimeout(() => this.#abort('handler_timeout'), this.#host.handlerTimeoutMs)
    })
  }

  /** Aborts when the handlers have had their time, or somebody else has the event. Made when a handler first asks for it. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason)
    }
    return this.#controller.signal
  }

  /** Another process has the event: what still runs here is told to stop, and its end changes nothing. */
  loseLease(): void {
    if (!this.#isOver && this.#abortReason?.code !== 'lease_lost') this.#abort('lease_lost')
  }

  // ── Schema ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #check(): void {
    const { model, schema } = this.#route
    const { data } = this.#event
    if (model !== undefined && !hasRecord(data)) return this.#onChecked(NO_RECORD)
    if (schema === undefined) return this.#runHandlers()
    let checked: Checked | Promise<Checked>
    try {
      checked = checkData(schema, model === undefined ? data : data.record)
    } catch (error) {
      return this.#onSchemaThrew(error)
    }
    if (!(checked instanceof Promise)) return this.#onChecked(checked)
    checked.then(
      (result) => this.#onChecked(result),
      (error: unknown) => this.#onSchemaThrew(error),
    )
  }

  #onChecked(checked: Checked): void {
    if (this.#isOver) return
    if ('issues' in checked) {
      const rejection = new Rejection(
        'invalid_record',
        'The record, or data, is not what the schema asks for.',
        checked.issues,
      )
      return this.#end(toRejected(rejection, this.#event), 'release')
    }
    // What the schema gave stands in for what came in; nobody else holds this event.
    if (this.#route.model !== undefined) this.#event.data = { ...this.#event.data, record: checked.value }
    else this.#event.data = checked.value as ParsedEvent['data'] // handlers know the type of the schema's output
    this.#runHandlers()
  }

  #onSchemaThrew(cause: unknown): void {
    if (this.#isOver) return
    const error = new PosternError(
      'schema_failed',
      `The schema for ${quote(this.#event.type)} threw instead of reporting issues.`,
      { cause },
    )
    this.#host.reporter.error(error)
    this.#end(toFailed(500, 'schema_failed', error, this.#event), 'release')
  }

  // ── Handlers ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #runHandlers(): void {
    if (this.#abortReason !== undefined) return this.#endUnbegun(this.#abortReason)
    if (this.#host.isClosing) return this.#end(toEventOutcome('closing', this.#event), 'release')
    const { handlers } = this.#route
    this.#todo = this.finished.length === 0 ? handlers : handlers.filter(({ name }) => !this.finished.includes(name))
    this.#pending = this.#todo.length
    for (const handler of this.#todo) this.#runHandler(handler)
    if (this.#pending === 0) this.#onAllEnded()
  }

  #runHandler({ name, run }: NamedHandler): void {
    try {
      const result =
        this.#host.transact === undefined
          ? run(this.#event as AnyEvent, new WorkContext(this, name, this.#source)) // model and action were set with the route
          : this.#openContext(name).run((context) => run(this.#event as AnyEvent, context)) // as above
      if (isThenable(result)) {
        this.#awaitHandler(name, result)
        return
      }
      this.finished.push(name)
    } catch (error) {
      this.#onFailure(name, error)
    }
    this.#pending--
  }

  /** `await` takes a promise's end at its first word, also from one whose `then` was tampered with. */
  async #awaitHandler(name: string, result: PromiseLike<unknown>): Promise<void> {
    let failure: { readonly error: unknown } | undefined
    try {
      await result
    } catch (error) {
      failure = { error }
    }
    if (this.#isOver) return // abandoned: the event is somebody else's by now
    if (failure === undefined) this.#onFinished(name)
    else this.#onFailure(name, failure.error)
    if (--this.#pending === 0) this.#onAllEnded()
  }

  #onFinished(name: string): void {
    if (this.#tails?.delete(name) !== true) this.finished.push(name)
  }

  #onFailure(name: string, error: unknown): void {
    this.#failures ??= []
    this.#failures.push({ name, error })
  }

  #onAllEnded(): void {
    const error = this.#failures === undefined ? undefined : this.#toFailure(this.#failures)
    if (error !== undefined) this.#host.reporter.error(error)
    if (this.#abortReason?.code === 'lease_lost')
      return this.#end(toFailed(503, 'lease_lost', this.#abortReason, this.#event), 'nothing')
    if (error === undefined) this.#end(toEventOutcome('handled', this.#event), 'complete')
    else this.#end(toFailed(500, 'handler_failed', error, this.#event), 'release')
  }

  #toFailure(failures: readonly { readonly name: string; readonly error: unknown }[]): HandlerError {
    const names = failures.map(({ name }) => name)
    const errors = failures.map(({ error }) => error)
    const cause = errors.length === 1 ? errors[0] : new AggregateError(errors, `${errors.length} handlers failed`)
    const message = `Handlers of ${quote(this.#event.type)} failed: ${names.join(', ')}.`
    return this.#toError('handler_failed', message, names, cause)
  }

  // ── Transactions ─────────────────────────────────────────────────────────────────────────────────────────────────

  transact(mark: string, signal: AbortSignal, work: (tx: never) => unknown): Promise<unknown> {
    return this.#listener.transact(mark, signal, work)
  }

  onCommitted(name: string): void {
    this.finished.push(name)
    this.#tails ??= new Set()
    this.#tails.add(name)
  }

  onThrewAfterCommit(name: string, thrown: unknown): void {
    const message = `The handler ${name} of ${quote(this.#event.type)} threw after its transaction had been committed. It counts as finished.`
    this.#host.reporter.error(this.#toError('handler_failed', message, [name], thrown))
  }

  refuseTransaction(name: string, why: string): HandlerError {
    const message = `context.transaction() of the handler ${name} ${why}`
    const error = this.#toError('transaction_misused', message, [name], undefined)
    this.#host.reporter.error(error)
    return error
  }

  #openContext(name: string): TransactingContext {
    const context = new TransactingContext(this, name, this.#source)
    this.#contexts ??= []
    this.#contexts.push(context)
    return context
  }

  // ── Abort and abandonment ────────────────────────────────────────────────────────────────────────────────────────

  #abort(code: 'handler_timeout' | 'lease_lost'): void {
    const { clock, handlerTimeoutMs, reporter } = this.#host
    const message =
      code === 'handler_timeout'
        ? `The ${this.#todo.length === 0 ? 'schema' : 'handlers'} of ${quote(this.#event.type)} ran for ${handlerTimeoutMs} ms (handlerTimeoutMs).`
        : `Another process has taken over ${quote(this.#event.type)} while its handlers ran here.`
    const isFirst = this.#abortReason === undefined
    this.#abortReason = this.#toError(code, message, this.#running(), undefined)
    reporter.error(this.#abortReason)
    this.#controller?.abort(this.#abortReason)
    if (!isFirst) return // the time to stop is running already
    clock.clearTimeout(this.#timer)
    this.#timer = clock.setTimeout(() => this.#abandon(this.#abortReason), ABANDON_AFTER_MS)
  }

  #abandon(reason: HandlerError | undefined): void {
    const names = this.#running()
    if (names.length === 0 && reason !== undefined) return this.#endUnbegun(reason)
    const message = `Handlers did not end within ${ABANDON_AFTER_MS} ms of their abort: ${names.join(', ')}. Pass context.signal to what they wait for.`
    const error = this.#toError('handler_abandoned', message, names, reason)
    this.#host.reporter.error(error)
    if (this.#contexts !== undefined) for (const context of this.#contexts) context.abandon(error)
    if (names.every((name) => this.finished.includes(name))) return this.#onAllEnded()
    const settleBy = reason?.code === 'lease_lost' ? 'nothing' : 'abandon'
    this.#end(toFailed(500, 'handler_abandoned', error, this.#event), settleBy)
  }

  /** The schema took all the time there was: no handler has begun, and none will. */
  #endUnbegun(reason: HandlerError): void {
    if (reason.code === 'lease_lost') this.#end(toFailed(503, 'lease_lost', reason, this.#event), 'nothing')
    else this.#end(toFailed(500, 'schema_failed', reason, this.#event), 'release')
  }

  #running(): readonly string[] {
    const ended = new Set([...this.finished, ...(this.#failures ?? []).map(({ name }) => name)])
    return this.#todo.map(({ name }) => name).filter((name) => !ended.has(name) || this.#tails?.has(name))
  }

  #toError(
    code: 'handler_failed' | 'handler_timeout' | 'handler_abandoned' | 'lease_lost' | 'transaction_misused',
    message: string,
    handlers: readonly string[],
    cause: unknown,
  ): HandlerError {
    return new HandlerError(
      code,
      message,
      { handlers, eventId: this.#event.id, eventType: this.#event.type },
      { cause },
    )
  }

  #end(verdict: Outcome, settleBy: Settlement): void {
    this.#isOver = true
    if (this.#timer !== undefined) this.#host.clock.clearTimeout(this.#timer)
    this.#listener.onEnd(verdict, settleBy, this.finished)
  }
}
