import { inspect } from 'node:util'
import { showDuration } from '../../src/host/duration.ts'
import { isPlain } from '../../src/protocol/copy-plain.ts'
import type { AnyEvent } from '../../src/protocol/events.ts'
import { FILLED_TEXT, type Kind, OBJECT, OptionChecker, whole } from '../../src/protocol/option-checker.ts'
import { isThenable } from '../../src/protocol/promises.ts'
import { isError, show } from '../../src/protocol/show.ts'
import { parseDuration } from '../wire/parse-duration.ts'
import { findMisspelt } from './find-misspelt.ts'
import { DURATION } from './manual-clock.ts'
import { type HandlerRecorder, type HandlerRun, Recorder } from './recorder.ts'
import { begun, type DeliveryResult } from './sender.ts'

/** Assertions that `expect.extend(matchers)` adds to the `expect` of a test runner. */
export interface PosternMatchers<R = void> {
  /** Asserts that an attempt, an outcome or a response has a 2xx status, or that a delivery ended with one. */
  toBeAcknowledged(): R
  /** Asserts that it was refused with a 4xx status, or with exactly this status if one is passed. 404 is an error: no receiver answers it. */
  toBeRejected(status?: number): R
  /** Asserts that a delivery has had this many attempts so far. */
  toHaveAttempts(count: number): R
  /** Asserts that a handler finished for an event of this type with these fields in its record, or in its data if it has no record. */
  toHaveHandled(type: string, partial?: object): R
  /** Asserts that handlers finished for the event, and none of them more than once. */
  toHaveHandledOnce(eventId: string): R
  /** Asserts that a pending delivery is retried this long after its last attempt: milliseconds, or text such as `30s`. */
  toHaveScheduledNext(delay: number | string): R
}

/** Value of `this` in a matcher, in Vitest and in Jest. */
export interface MatcherContext {
  readonly isNot?: boolean
  equals(actual: unknown, expected: unknown): boolean
}

/** Result of a matcher. */
export interface MatcherResult {
  readonly pass: boolean
  message(): string
}

/**
 * Matchers for test runners with `expect.extend`. For Vitest, `import 'postern/testing/vitest'` adds them, including their types.
 *
 * @example expect.extend(matchers)
 */
export const matchers = closeMatchers({
  toBeAcknowledged(this: MatcherContext, received: unknown, none?: undefined): MatcherResult {
    const { status, text } = statusOf(this, received, 'toBeAcknowledged')
    mustBe('toBeAcknowledged', 'the argument', none, NONE)
    return say(this, isIn(status, 200), 'to be acknowledged', text)
  },

  toBeRejected(this: MatcherContext, received: unknown, expected?: number): MatcherResult {
    const { status, text } = statusOf(this, received, 'toBeRejected')
    if (isUnrouted(received, status)) throw new OptionChecker('toBeRejected').invalid(NO_RECEIVER + text)
    if (expected !== undefined) mustBe('toBeRejected', 'status', expected, REFUSAL)
    const pass = isIn(status, 400) && (expected === undefined || status === expected)
    return say(this, pass, `to be rejected with ${expected ?? 'a 4xx status'}`, text)
  },

  toHaveAttempts(this: MatcherContext, received: unknown, count: number): MatcherResult {
    const { attempts } = asDelivery(received, 'toHaveAttempts')
    mustBe('toHaveAttempts', 'count', count, whole(0, Number.MAX_SAFE_INTEGER))
    return say(
      this,
      attempts.length === count,
      `to have ${count} attempts`,
      `it has ${attempts.length}: ${list(attempts)}`,
    )
  },

  toHaveHandled(this: MatcherContext, received: unknown, type: string, given?: object): MatcherResult {
    const { runs } = asRecorder(received, 'toHaveHandled')
    const partial = given ?? {}
    mustBe('toHaveHandled', 'type', type, FILLED_TEXT)
    mustBe('toHaveHandled', 'partial', partial, OBJECT)
    const isNegated = this.isNot === true
    const meant = received instanceof Recorder ? received.checkType('toHaveHandled', type, isNegated) : undefined
    const finished = runs.filter(({ event, state }) => state === 'finished' && event.type === type)
    const differences = finished.map(({ event: { id, data } }) => {
      const { record = data } = Object(data)
      const lines = compare(this, record, partial, id)
      return compare(this, data, partial, id).length === 0 ? [] : lines // another sender's data may have a field of this name
    })
    const pass = differences.some((lines) => lines.length === 0)
    if (isNegated) {
      mustBeOver('toHaveHandled', received, (event) => event.type === type)
      mustNameFields('toHaveHandled', type, partial, finished)
    }
    const last = pass ? [] : ['', ...(differences.at(-1) ?? []), ...(meant ? [`  did you mean ${meant}?`] : [])]
    return say(this, pass, `to have handled ${type} with ${write(partial)}`, tell(runs) + last.join('\n'))
  },

  toHaveHandledOnce(this: MatcherContext, received: unknown, eventId: string): MatcherResult {
    const { runs } = asRecorder(received, 'toHaveHandledOnce')
    mustBe('toHaveHandledOnce', 'eventId', eventId, FILLED_TEXT)
    if (received instanceof Recorder) received.checkId('toHaveHandledOnce', eventId)
    if (runs.some(({ event }) => event.type === eventId))
      throw new OptionChecker('toHaveHandledOnce').invalid(`${show(eventId)} is a type; give the id of an event.`)
    const finished = runs.filter(({ event, state }) => event.id === eventId && state === 'finished')
    if (this.isNot) mustBeOver('toHaveHandledOnce', received, ({ id }) => id === eventId)
    const names = new Set(finished.map(({ handlerName }) => handlerName))
    const pass = names.size > 0 && names.size === finished.length
    return say(this, pass, `to have handled ${eventId} once`, tell(runs))
  },

  toHaveScheduledNext(this: MatcherContext, received: unknown, delay: number | string): MatcherResult {
    const { status, next } = asDelivery(received, 'toHaveScheduledNext')
    mustBe('toHaveScheduledNext', 'delay', delay, DELAY)
    const text =
      next === undefined ? `nothing is scheduled: it is ${status}` : `it comes ${showDuration(next.delayMs)} after`
    return say(this, next?.delayMs === parseDuration(delay), `to be tried again ${delay} after its last attempt`, text)
  },
})

type Matcher = (this: MatcherContext, ...given: never[]) => MatcherResult

/** Returns matchers that refuse what stands behind their last argument: it would look as if it were asserted. None has a default value. */
function closeMatchers<T extends Readonly<Record<string, Matcher>>>(open: T): T {
  const close = (name: string, matcher: Matcher) =>
    function (this: MatcherContext, ...given: never[]) {
      const next: unknown = given.slice(matcher.length).find((value) => value !== undefined)
      if (next !== undefined)
        throw new OptionChecker(name).invalid(`${show(next)} follows its last argument; nothing would compare it.`)
      return matcher.apply(this, given)
    }
  return Object.fromEntries(Object.entries(open).map(([name, matcher]) => [name, close(name, matcher)])) as T // same names
}

/** Checks an argument, also for a negated matcher, which would pass. */
function mustBe(matcher: string, name: string, value: unknown, kind: Kind): void {
  new OptionChecker(matcher).mustBe(name, value, kind)
}

/** Refuses a negated matcher before the event is handled: it would pass. */
function mustBeOver(matcher: string, received: unknown, isMeant: (event: AnyEvent<unknown>) => boolean): void {
  if (begun.isNow) throw new OptionChecker(matcher).invalid('a delivery has only begun: await it first.')
  if (received instanceof Recorder) received.checkOver(matcher, isMeant)
}

/** Refuses a misspelt field of a negated matcher, which would pass. */
function mustNameFields(matcher: string, type: string, partial: object, runs: readonly HandlerRun[]): void {
  const check = new OptionChecker(matcher)
  const records = runs.map(({ event: { data } }) => Object(data).record ?? data)
  const [only, ...others] = Object.keys(partial)
  if (only === 'data' && others.length === 0 && !records.some((record) => only in Object(record)))
    throw check.invalid('give the fields of the record itself, not { data }.')
  const isThere = (name: string) => records.some((record) => name in Object(record))
  const unset = Object.keys(partial).find((name) => Object(partial)[name] === undefined && isThere(name))
  if (unset !== undefined) throw check.invalid(`${unset} is undefined, which no field of an event is.`)
  const ofEnvelope = Object.keys(partial).find((name) => ENVELOPE.includes(name) && !isThere(name))
  if (ofEnvelope !== undefined && runs.length > 0)
    throw check.invalid(
      `${ofEnvelope} is not in the record, but beside the data of the event: look at handled.runsOfType("${type}").`,
    )
  const misspelt = findMisspeltWithin(partial, records)
  if (misspelt !== undefined) throw check.invalid(`no record has a ${misspelt}`)
}

/** Finds a misspelt field, also of an object within. */
function findMisspeltWithin(partial: object, values: readonly unknown[]): string | undefined {
  const fields = values.flatMap((value) => Object.keys(Object(value)))
  const misspelt = findMisspelt(Object.keys(partial), fields)
  if (misspelt !== undefined) return misspelt
  const inner = Object.entries(partial).filter(([, value]) => isPlain(value))
  return inner
    .map(([name, value]) =>
      findMisspeltWithin(
        value,
        values.map((each) => Object(each)[name]),
      ),
    )
    .find((found) => found !== undefined)
}

/** Fields of an event beside its data. */
const ENVELOPE = ['type', 'timestamp', 'accountKey', 'model', 'action']

/** No sender retries after less than a second. */
const DELAY: Kind = (value) =>
  DURATION(value) ??
  (typeof value === 'number' && value > 0 && value < 1_000 ? `milliseconds, or "${value}s"` : undefined)
const NONE: Kind = (value) => (value === undefined ? undefined : 'none, or use toBeRejected(status)')
const REFUSAL: Kind = (value) =>
  isIn(value, 400) && value !== 404 ? undefined : 'a 4xx status but 404: an event is rejected with no other'
const NO_RECEIVER = 'no receiver answered at the path of the target: '

/** Returns true for an answer of a router. A receiver never answers 404, and 405 to other methods only, with a code. */
function isUnrouted(received: unknown, status: unknown): boolean {
  const { body } = Object(isDelivery(received) ? received.attempts.at(-1) : received)
  return status === 404 || (status === 405 && typeof body === 'string' && !body.startsWith('{"code"'))
}

function say({ isNot }: MatcherContext, pass: boolean, wanted: string, found: string): MatcherResult {
  return { pass, message: () => `expected it ${isNot ? 'not ' : ''}${wanted}; ${found}` }
}

function isIn(status: unknown, from: number): boolean {
  return typeof status === 'number' && status >= from && status < from + 100
}

function statusOf(
  { isNot }: MatcherContext,
  received: unknown,
  matcher: string,
): { readonly status: unknown; readonly text: string } {
  const answer = isDelivery(received) ? received.attempts.at(-1) : received
  if (isDelivery(received) && answer === undefined) {
    const text = 'no attempt has ended yet'
    // Negated, it would pass.
    if (isNot && received.status === 'pending') throw new OptionChecker(matcher).invalid(`${text}: await the delivery.`)
    return { status: undefined, text }
  }
  if (!isObject(answer) || !('status' in answer))
    throw new OptionChecker(matcher).invalid(
      isThenable(received)
        ? 'a promise has no status: await it.'
        : `${show(received)} has no status: give an attempt, a delivery, an outcome or a response.`,
    )
  return { status: answer.status, text: describe(answer) }
}

function describe(answer: { readonly status: unknown }): string {
  const { status } = answer
  const { failure, body, code, error }: Readonly<Record<string, unknown>> = { ...answer }
  const why = isError(error) ? `: ${error.message}` : ''
  if (status === undefined) return `no answer came (${String(failure)}${why})`
  return `its status is ${String(status)}${typeof code === 'string' ? ` ${code}` : ''}${typeof body === 'string' ? ` ${body}` : ''}${why}`
}

function list(attempts: DeliveryResult['attempts']): string {
  return attempts.map(({ status, failure }) => status ?? failure).join(', ') || 'none'
}

function tell(runs: readonly HandlerRun[]): string {
  const lines = runs.map(({ event, handlerName, state }) => `  ${event.type} ${event.id} by ${handlerName}: ${state}`)
  return lines.length === 0 ? 'no handler ran' : `these ran:\n${lines.join('\n')}`
}

/** Returns a line for each field of the pattern that the value does not match. */
function compare(context: MatcherContext, value: unknown, pattern: unknown, path: string): readonly string[] {
  const isPlain = isObject(pattern) && Object.getPrototypeOf(pattern) === Object.prototype
  if (!isPlain)
    return context.equals(value, pattern) ? [] : [`  ${path}: ${write(pattern)} was wanted, not ${write(value)}`]
  if (!isObject(value)) return [`  ${path}: an object was wanted, not ${write(value)}`]
  const fields: Readonly<Record<string, unknown>> = { ...value }
  return Object.entries(pattern).flatMap(([name, wanted]) =>
    name in fields ? compare(context, fields[name], wanted, `${path}.${name}`) : [`  ${path}.${name}: is not there`],
  )
}

function asDelivery(received: unknown, matcher: string): DeliveryResult {
  if (isDelivery(received)) return received
  throw new OptionChecker(matcher).invalid('it takes a delivery: the result of sender.deliver(), awaited or not.')
}

function isDelivery(received: unknown): received is DeliveryResult {
  return isObject(received) && 'attempts' in received && Array.isArray(received.attempts)
}

function asRecorder(received: unknown, matcher: string): HandlerRecorder {
  if (isObject(received) && 'runs' in received && Array.isArray(received.runs)) return received as HandlerRecorder // nothing else here has runs
  throw new OptionChecker(matcher).invalid('it takes the result of recordHandlers().')
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

const write = (value: unknown) => inspect(value, { breakLength: Number.POSITIVE_INFINITY })
