import { isPlain } from '../../src/protocol/copy-plain.ts'
import type { ConfigurationError } from '../../src/protocol/errors.ts'
import { type AnyEvent, NAMED_TYPES, splitType, type WebhookEvent } from '../../src/protocol/events.ts'
import { findLikeType, findMeantType } from '../../src/protocol/find-meant-type.ts'
import { findNearest } from '../../src/protocol/nearest.ts'
import { FILLED_TEXT, type Kind, OptionChecker, whole, withMethods } from '../../src/protocol/option-checker.ts'
import type { Outcome } from '../../src/protocol/outcome.ts'
import { isThenable } from '../../src/protocol/promises.ts'
import { show } from '../../src/protocol/show.ts'
import type { HandlerContext } from '../../src/receiver/handler.ts'
import type { Interceptor } from '../../src/receiver/intercept.ts'

/** Run of one handler. */
export interface HandlerRun {
  readonly event: AnyEvent<unknown>
  readonly handlerName: string
  readonly state: 'running' | 'finished' | 'failed'
  /** Error that the handler threw or rejected with. */
  readonly error?: unknown
}

/** Recorder of all handler runs, in the order of their starts. */
export interface HandlerRecorder {
  readonly runs: readonly HandlerRun[]
  /** Returns the runs for one event, by its id. */
  runsOf(eventId: string): readonly HandlerRun[]
  /** Returns the runs for events of one type. */
  runsOfType(type: string): readonly HandlerRun[]
  /**
   * Makes the next `count` runs of every handler fail without calling it.
   *
   * @param error error with which they reject
   */
  failTimes(count: number, error?: unknown): void
  /** Removes all runs, and failures that have not happened yet. */
  clear(): void
}

/**
 * Records the handler runs of a receiver. Call it before the first delivery.
 *
 * @throws ConfigurationError `registration_frozen`, `option_invalid`
 */
export function recordHandlers(receiver: RecordedReceiver): HandlerRecorder
export function recordHandlers(receiver: RecordedReceiver, next?: unknown): HandlerRecorder {
  const check = new OptionChecker('recordHandlers')
  check.mustBe('receiver', receiver, receiverWith('intercept'))
  check.mustEnd(next)
  return new Recorder(receiver)
}

/** Receiver whose handler runs can be recorded. */
export interface RecordedReceiver {
  intercept(interceptor: Interceptor): unknown
  eventTypes?(): { readonly types: readonly string[]; readonly open: boolean }
}

/** Receiver with its recorder. */
export interface TestedReceiver {
  /** Recorder of the handler runs. */
  readonly handled: HandlerRecorder
  /** Dispatches an event to the handlers, with schemas and deduplication but without a signature. */
  dispatch(event: WebhookEvent<string, unknown>): Promise<Outcome>
}

/**
 * Prepares a receiver for tests of its handlers, without an app, a secret or a clock.
 *
 * @throws ConfigurationError `registration_frozen`, `option_invalid`
 * @example
 * const { dispatch, handled } = testReceiver(receiver)
 * await dispatch(events.contact.created({ email: 'zoe@example.test' }))
 * expect(handled).toHaveHandled('contact.created', { email: 'zoe@example.test' })
 */
export function testReceiver(receiver: RecordedReceiver & Dispatches): TestedReceiver
export function testReceiver(receiver: RecordedReceiver & Dispatches, next?: unknown): TestedReceiver {
  const check = new OptionChecker('testReceiver')
  check.mustBe('receiver', receiver, receiverWith('intercept', 'dispatch'))
  check.mustEnd(next)
  const handled = new Recorder(receiver)
  const dispatch = async (event: WebhookEvent<string, unknown>, next?: unknown) => {
    new OptionChecker('dispatch').mustEnd(next, 'pass options to dispatch() of the receiver')
    handled.dispatched.add(Object(event)) // the receiver refuses what is no event
    const pending = { event }
    handled.pending.add(pending)
    try {
      return await receiver.dispatch(event)
    } finally {
      handled.pending.delete(pending)
    }
  }
  return { handled, dispatch }
}

type Dispatches = Pick<TestedReceiver, 'dispatch'>

const receiverWith =
  (...methods: readonly string[]): Kind =>
  (value) =>
    withMethods(...methods)(value) && 'a receiver of createReceiver()'

/** A number of runs, or `Infinity` for all. */
const COUNT: Kind = (value) =>
  value === Number.POSITIVE_INFINITY ? undefined : whole(0, Number.MAX_SAFE_INTEGER)(value)

/** Anything that a handler may throw, except a function that makes it, and options. */
const FAILURE: Kind = (value) =>
  typeof value === 'function' || (isPlain(value) && !['message', 'code'].some((name) => name in value))
    ? 'an error, with which every handler fails'
    : undefined

/** Returns what to do about a type that no event has: a pattern, an id, a model, or a model with another action. */
function findFix(type: string, known: readonly string[], isOpen: boolean): string | undefined {
  if (type.includes('*')) return 'give one type, not a pattern.'
  if (type.startsWith('evt_')) return 'it is the id of an event; give its type.'
  const [word = '', ...rest] = type.split('.')
  const others = [...new Set([...known, ...NAMED_TYPES])].filter((each) => each.startsWith(`${word}.`))
  const isOfModel = !isOpen && others.every((each) => splitType(each) !== undefined)
  return others.length > 0 && (rest.length === 0 || isOfModel) ? `give one of ${others.join(', ')}.` : undefined
}

const toMisuse = (name: unknown) =>
  new OptionChecker('handled.failTimes').invalid(
    `${show(name)} is no error, but the name of a handler or a type; every handler fails.`,
  )

interface OpenRun extends HandlerRun {
  state: 'running' | 'finished' | 'failed'
  error?: unknown
}

/** Recorder that also knows which types of events there are. */
export class Recorder implements HandlerRecorder {
  readonly dispatched = new Set<AnyEvent<unknown>>()
  /** Dispatches that have not ended. */
  readonly pending = new Set<{ readonly event: AnyEvent<unknown> }>()
  readonly #receiver: RecordedReceiver
  readonly #contexts = new WeakMap<HandlerRun, HandlerContext>()
  #runs: OpenRun[] = []
  /** Error for the name of a handler in the place of the error, which is known once this handler runs. */
  #misuse: ConfigurationError | undefined
  #failures: { readonly count: number; readonly error: unknown; readonly used: Map<string, number> }[] = []

  constructor(receiver: RecordedReceiver) {
    this.#receiver = receiver
    receiver.intercept((run, event, context, handlerName) => this.#record(run, event, context, handlerName))
  }

  get runs(): readonly HandlerRun[] {
    if (this.#misuse !== undefined) throw this.#misuse
    return this.#runs
  }

  runsOf(eventId: string, next?: unknown): readonly HandlerRun[] {
    this.checkId('handled.runsOf', eventId).mustEnd(next)
    return this.#runs.filter(({ event }) => event.id === eventId)
  }

  runsOfType(type: string, next?: unknown): readonly HandlerRun[] {
    this.checkType('handled.runsOfType', type)
    new OptionChecker('handled.runsOfType').mustEnd(next)
    return this.#runs.filter(({ event }) => event.type === type)
  }

  failTimes(count: number, error: unknown = new Error('failTimes() makes this run fail.'), next?: unknown): void {
    const check = new OptionChecker('handled.failTimes')
    check.mustBe('count', count, COUNT)
    check.mustBe('error', error, FAILURE)
    if (this.#receiver.eventTypes?.().types.some((type) => type === error)) throw toMisuse(error)
    check.mustEnd(next)
    this.#failures.push({ count, error, used: new Map() })
  }

  clear(): void {
    this.#runs = []
    this.#failures = []
  }

  /**
   * Throws for a type that no event has: a misspelt one, a pattern or an id.
   *
   * @param isCertain false to return what was meant by a type that the service can send
   */
  checkType(method: string, type: string, isCertain = true): string | undefined {
    const check = new OptionChecker(method)
    check.mustBe('type', type, FILLED_TEXT)
    const { types, open } = this.#receiver.eventTypes?.() ?? { types: [type], open: true }
    const known = [...types, ...this.#events().map((event) => event.type)]
    if (known.includes(type)) return undefined
    const isSendable = splitType(type) !== undefined || NAMED_TYPES.includes(type)
    const meant = open ? findMeantType(type, known) : findLikeType(type, known)
    if (isSendable && !(isCertain && meant !== undefined)) return meant ?? findNearest(type, types)
    const fix = meant === undefined ? findFix(type, known, open) : `did you mean ${meant}?`
    if (fix !== undefined) throw check.invalid(`there is no type ${type}: ${fix}`)
    return undefined
  }

  /** Throws for a type, or the id of a record, in the place of the id of an event. */
  checkId(method: string, eventId: string): OptionChecker {
    const check = new OptionChecker(method)
    check.mustBe('eventId', eventId, FILLED_TEXT)
    const events = this.#events()
    const types = [...NAMED_TYPES, ...events.map(({ type }) => type), ...(this.#receiver.eventTypes?.().types ?? [])]
    const isOfRecord = ({ data }: AnyEvent<unknown>) => Object(Object(data).record)._id === eventId
    const wrong = types.includes(eventId) ? 'a type' : events.some(isOfRecord) ? 'the id of a record' : undefined
    if (wrong !== undefined && !events.some(({ id }) => id === eventId))
      throw check.invalid(`${show(eventId)} is ${wrong}; give the id of an event.`)
    return check
  }

  #events(): readonly AnyEvent<unknown>[] {
    return [...this.dispatched, ...this.#runs.map(({ event }) => event)]
  }

  /** Throws if such an event is under way, which its handlers may still finish. A handler that timed out is not awaited. */
  checkOver(method: string, isMeant: (event: AnyEvent<unknown>) => boolean): void {
    const isRunning = (run: HandlerRun) => run.state === 'running' && this.#contexts.get(run)?.signal.aborted !== true
    const open = [...this.pending, ...this.#runs.filter(isRunning)].find(({ event }) => isMeant(Object(event)))
    if (open !== undefined)
      throw new OptionChecker(method).invalid(
        `${open.event.type} is still under way: await dispatch(), or the delivery, first. The runs so far are in handled.runs.`,
      )
  }

  #record(run: () => unknown, event: AnyEvent<unknown>, context: HandlerContext, handlerName: string): unknown {
    const entry: OpenRun = { event, handlerName, state: 'running' }
    this.#runs.push(entry)
    this.#contexts.set(entry, context)
    const finish = (value: unknown) => {
      entry.state = 'finished'
      return value
    }
    const fail = (error: unknown) => {
      entry.state = 'failed'
      entry.error = error
      throw error
    }
    const failure = this.#takeFailure(handlerName)
    if (failure !== undefined) return fail(failure.error)
    let result: unknown
    try {
      result = run()
    } catch (error) {
      return fail(error)
    }
    // A synchronous handler must stay synchronous when it is recorded.
    return isThenable(result) ? Promise.resolve(result).then(finish, fail) : finish(result)
  }

  #takeFailure(handlerName: string): { readonly error: unknown } | undefined {
    for (const failure of this.#failures) {
      const used = failure.used.get(handlerName) ?? 0
      if (used >= failure.count) continue
      failure.used.set(handlerName, used + 1)
      if (failure.error === handlerName) this.#misuse = toMisuse(handlerName)
      return failure
    }
    return undefined
  }
}
