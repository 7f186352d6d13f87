import { makeDedupKeys } from '../protocol/dedup-key.ts'
import type { ParsedEvent } from '../protocol/envelope.ts'
import { PosternError } from '../protocol/errors.ts'
import { type Outcome, Rejection } from '../protocol/outcome.ts'
import type { Settings } from './options.ts'
import { toEventOutcome, toRejected } from './outcomes.ts'
import type { Reporter } from './reporter.ts'
import type { Route, Routes } from './routes.ts'
import { Run } from './run.ts'
import type { Delivery, RunHost } from './run-host.ts'
import { toTransact } from './transact.ts'

/** Timers that are set for longer go off at once. */
const LONGEST_TIMER_MS = 2_147_483_647
const TOO_OLD = new Rejection('event_too_old', 'The event is older than maxAge, or its timestamp is not a date.')

/** Stops 6 to 10 of a delivery: its route, then the run that it starts or joins. */
export class Dispatcher implements RunHost {
  readonly store
  readonly transact
  readonly clock
  readonly leaseMs
  readonly deadlineMs
  readonly handlerTimeoutMs
  readonly reporter: Reporter
  isClosing = false

  readonly #toKey: (accountKey: string, id: string) => string
  readonly #maxInFlight: number
  readonly #maxAge: number | undefined
  readonly #routes: Routes
  readonly #runs = new Map<string, Run>()
  #joined = 0
  #onIdle: (() => void)[] = []

  constructor(settings: Settings, routes: Routes, reporter: Reporter) {
    this.store = settings.store
    this.transact = toTransact(settings.store)
    this.clock = settings.clock
    this.leaseMs = settings.leaseMs
    this.deadlineMs = settings.deadlineMs
    this.handlerTimeoutMs = settings.handlerTimeoutMs
    this.reporter = reporter
    this.#toKey = makeDedupKeys(settings.name)
    this.#maxInFlight = settings.maxInFlight
    this.#maxAge = settings.maxAge
    this.#routes = routes
  }

  /** Events whose handlers, or whose settling, have not ended. */
  get runsUnderWay(): number {
    return this.#runs.size
  }

  /** Takes an event that nobody else holds: it, or what is made of it, is what handlers get. */
  dispatch(event: ParsedEvent, delivery: Delivery): Outcome | Promise<Outcome> {
    if (this.#maxAge !== undefined && !(this.clock.now() - Date.parse(event.timestamp) <= this.#maxAge))
      return toRejected(TOO_OLD, event)
    if (this.#routes.isEmpty) return this.#noHandlers(event)
    const route = this.#routes.find(event.type)
    if (route === undefined) return toEventOutcome('ignored', event)

    const key = this.#toKey(event.accountKey, event.id)
    const underWay = this.#findRun(key)
    if (this.isClosing && underWay === undefined) return toEventOutcome('closing', event)
    if (this.#isFull()) return toEventOutcome('overloaded', event)
    if (underWay !== undefined) return this.#join(underWay, delivery)

    const run = new Run(this, key, toHandlersEvent(event, route), route, delivery)
    run.start()
    if (run.outcome !== undefined) return run.outcome
    this.#runs.set(key, run)
    return run.join(delivery)
  }

  ended(key: string, run: object): void {
    // A run that was over at once never stood here, and a handler may have begun another one of its key meanwhile.
    if (this.#runs.get(key) !== run) return
    this.#runs.delete(key)
    if (this.#runs.size > 0) return
    for (const resolve of this.#onIdle) resolve()
    this.#onIdle = []
  }

  /** Waits until every run has ended, for `timeoutMs` at most. Those that have not then go on, and keep their claims. */
  drain(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#runs.size === 0) return resolve()
      const timer = this.clock.setTimeout(resolve, Math.min(timeoutMs, LONGEST_TIMER_MS))
      this.#onIdle.push(() => {
        this.clock.clearTimeout(timer)
        resolve()
      })
    })
  }

  #findRun(key: string): Run | undefined {
    const run = this.#runs.get(key)
    if (run === undefined || !run.isCutOff) return run
    this.#drop(run)
    return undefined
  }

  #isFull(): boolean {
    if (this.#runs.size + this.#joined < this.#maxInFlight) return false
    for (const run of this.#runs.values()) if (run.isCutOff) this.#drop(run)
    return this.#runs.size + this.#joined >= this.#maxInFlight
  }

  /** Its claim has ended as well. Should it ever go on, the claim's token fences it off. */
  #drop(run: Run): void {
    this.ended(run.key, run)
    this.reporter.error(run.toCutOffError())
  }

  #join(run: Run, delivery: Delivery): Outcome | Promise<Outcome> {
    const outcome = run.join(delivery)
    if (!(outcome instanceof Promise)) return outcome
    this.#joined++
    return outcome.finally(() => this.#joined--)
  }

  #noHandlers({ id, type, accountKey }: ParsedEvent): Outcome {
    const error = new PosternError(
      'no_handlers',
      'A signed event came in, but no handler is registered. Handlers are often registered in a module that nothing imports: import it before the receiver is mounted. Until then deliveries are answered 500, so that the service keeps them.',
    )
    this.reporter.errorOnce(error)
    return { outcome: 'error', status: 500, code: 'no_handlers', error, id, type, accountKey }
  }
}

const ENVELOPE_FIELDS = 5

/**
 * The event as handlers see it: with the model and the action of its type, and never with such fields of the sender's own. It is
 * written out where there is nothing beyond the envelope, since adding fields to an object that JSON.parse made costs as much as
 * parsing it.
 */
function toHandlersEvent(event: ParsedEvent, { model, action }: Route): ParsedEvent {
  if (model === undefined || action === undefined) {
    if (event.model === undefined && event.action === undefined) return event
    const { model: _model, action: _action, ...rest } = event
    return rest
  }
  let fields = 0
  for (const _field in event) fields++
  if (fields > ENVELOPE_FIELDS) return { ...event, model, action }
  const { id, type, timestamp, accountKey, data } = event
  return { id, type, timestamp, accountKey, data, model, action }
}
