import { hasRecord, type ParsedEvent } from '../protocol/envelope.ts'
import { HandlerError, PosternError } from '../protocol/errors.ts'
import type { AnyEvent } from '../protocol/events.ts'
import { type Outcome, Rejection } from '../protocol/outcome.ts'
import { type Checked, checkData } from '../protocol/schema.ts'
import type { HandlerContext } from './handler.ts'
import { toEventOutcome, toFailed, toRejected } from './outcomes.ts'
import type { NamedHandler, Route } from './routes.ts'
import type { RunHost } from './run-host.ts'
import { isThenable } from './within.ts'

/** How long after its abort a handler is still waited for, in milliseconds. */
const ABANDON_AFTER_MS = 5_000

const NO_RECORD: Checked = { issues: [{ path: 'data.record', message: 'Expected an object with a string "_id".' }] }

/** What the work came to, and what the claim is to be settled by; an abandoned or lost one is left to run out. */
export interface WorkResult {
  readonly verdict: Outcome
  readonly settleBy: 'complete' | 'release' | 'nothing'
}

/** What the work tells whoever began it. Each is called once at most. */
export interface WorkListener {
  /** The work was not over at once: from here on it takes time. */
  onPending(): void
  onEnd(result: WorkResult): void
}

/** Schema and handlers of one claimed event, with their abort and, in the end, their abandonment. */
export class Work {
  /** Names of the handlers that have finished, in this attempt or earlier ones. */
  readonly finished: string[]
  readonly #host: RunHost
  readonly #event: ParsedEvent
  readonly #route: Route
  readonly #source: string | undefined
  readonly #listener: WorkListener
  readonly #failures: { readonly name: string; readonly error: unknown }[] = []
  #todo: readonly NamedHandler[] = []
  #pending = 0
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
      this.#listener.onPending()
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
    if (!this.#isOver) this.#abort('lease_lost')
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
    if (!isThenable(checked)) return this.#onChecked(checked)
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
    if (this.#abortReason === undefined) this.#runHandlers()
    else this.#end(toFailed(503, 'schema_failed', this.#abortReason, this.#event), 'release')
  }

  #onSchemaThrew(cause: unknown): void {
    if (this.#isOver) return
    const error = new PosternError(
      'schema_failed',
      `The schema for "${this.#event.type}" threw instead of reporting issues.`,
      { cause },
    )
    this.#host.reporter.error(error)
    this.#end(toFailed(500, 'schema_failed', error, this.#event), 'release')
  }

  // ── Handlers ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #runHandlers(): void {
    if (this.#host.isClosing) return this.#end(toEventOutcome('closing', this.#event), 'release')
    const { handlers } = this.#route
    this.#todo = this.finished.length === 0 ? handlers : handlers.filter(({ name }) => !this.finished.includes(name))
    this.#pending = this.#todo.length
    for (const handler of this.#todo) this.#runHandler(handler)
    if (this.#pending === 0) this.#onAllEnded()
  }

  #runHandler({ name, run }: NamedHandler): void {
    try {
      const result = run(this.#event as AnyEvent, new WorkContext(this, name, this.#source)) // model and action were set with the route
      if (isThenable(result)) {
        Promise.resolve(result).then(
          () => this.#onHandlerEnd(() => this.finished.push(name)),
          (error: unknown) => this.#onHandlerEnd(() => this.#failures.push({ name, error })),
        )
        return
      }
      this.finished.push(name)
    } catch (error) {
      this.#failures.push({ name, error })
    }
    this.#pending--
  }

  #onHandlerEnd(keep: () => void): void {
    if (this.#isOver) return // abandoned: the event is somebody else's by now
    keep()
    if (--this.#pending === 0) this.#onAllEnded()
  }

  #onAllEnded(): void {
    if (this.#abortReason?.code === 'lease_lost')
      return this.#end(toFailed(503, 'lease_lost', this.#abortReason, this.#event), 'nothing')
    if (this.#failures.length === 0) return this.#end(toEventOutcome('handled', this.#event), 'complete')
    const names = this.#failures.map(({ name }) => name)
    const errors = this.#failures.map(({ error }) => error)
    const cause = errors.length === 1 ? errors[0] : new AggregateError(errors, `${errors.length} handlers failed`)
    const error = this.#toError(
      'handler_failed',
      `Handlers of "${this.#event.type}" failed: ${names.join(', ')}.`,
      names,
      cause,
    )
    this.#host.reporter.error(error)
    this.#end(toFailed(500, 'handler_failed', error, this.#event), 'release')
  }

  // ── Abort and abandonment ────────────────────────────────────────────────────────────────────────────────────────

  #abort(code: 'handler_timeout' | 'lease_lost'): void {
    const { clock, handlerTimeoutMs, reporter } = this.#host
    const message =
      code === 'handler_timeout'
        ? `The handlers of "${this.#event.type}" ran for ${handlerTimeoutMs} ms (handlerTimeoutMs).`
        : `Another process has taken over "${this.#event.type}" while its handlers ran here.`
    const isFirst = this.#abortReason === undefined
    this.#abortReason = this.#toError(code, message, this.#running(), undefined)
    reporter.error(this.#abortReason)
    this.#controller?.abort(this.#abortReason)
    if (!isFirst) return // the time to stop is running already
    clock.clearTimeout(this.#timer)
    this.#timer = clock.setTimeout(() => this.#abandon(), ABANDON_AFTER_MS)
  }

  #abandon(): void {
    const names = this.#running()
    const message = `Handlers did not end within ${ABANDON_AFTER_MS} ms of their abort: ${names.join(', ')}. Pass context.signal to what they wait for.`
    const error = this.#toError('handler_abandoned', message, names, this.#abortReason)
    this.#host.reporter.error(error)
    this.#end(toFailed(500, 'handler_abandoned', error, this.#event), 'nothing')
  }

  #running(): readonly string[] {
    const ended = new Set([...this.finished, ...this.#failures.map(({ name }) => name)])
    return this.#todo.map(({ name }) => name).filter((name) => !ended.has(name))
  }

  #toError(
    code: 'handler_failed' | 'handler_timeout' | 'handler_abandoned' | 'lease_lost',
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

  #end(verdict: Outcome, settleBy: WorkResult['settleBy']): void {
    this.#isOver = true
    if (this.#timer !== undefined) this.#host.clock.clearTimeout(this.#timer)
    this.#listener.onEnd({ verdict, settleBy })
  }
}

/** Per handler, so that each knows its name. */
class WorkContext implements HandlerContext {
  readonly handlerName: string
  readonly source: string | undefined
  readonly #work: Work

  constructor(work: Work, handlerName: string, source: string | undefined) {
    this.#work = work
    this.handlerName = handlerName
    this.source = source
  }

  get signal(): AbortSignal {
    return this.#work.signal
  }
}
