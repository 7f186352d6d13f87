import { types } from 'node:util'
import { isPlain } from './copy-plain.ts'

/** Returns true if a value has to be awaited. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    'then' in value &&
    typeof value.then === 'function'
  )
}

/** Keeps a promise that nobody awaits from ending the process. Leaves other values alone: query builders start when `then` is called. */
export function ignoreRejection(value: unknown): void {
  if (types.isPromise(value)) Promise.prototype.then.call(value, undefined, () => {}) // the `then` of a subclass may do more
}

/** Errors that were returned, with the fix. */
const returned = new WeakMap<object, string>()

/**
 * Returns what a handler returned. Throws an error that it returned, also in a list or in a result of `Promise.allSettled`, and an error
 * for what nobody would await, call, iterate, run or subscribe to: promises in a list, a list of lists, an object or an iterator, a function, a
 * generator, an Effect, an Observable of RxJS, and a response of HTTP that is not ok.
 *
 * @param isUsed true if the app uses the result, which may be a row with few columns
 */
export function refuseUnfinished<T>(result: T, who = 'The handler', isUsed = false): T {
  if (result == null || isThenable(result)) return result
  const parts = listOf(result)
  const why = whyUnfinished(result, parts, isUsed)
  if (why !== undefined) throw new TypeError(`${who} returned ${why}`)
  const all: readonly unknown[] = [result, ...parts]
  const error = all.find(isErrorObject)
  const isList = !isUsed && parts.length > 0 && parts.every(isSettled)
  const rejected = error === undefined ? all.find((part) => isRejected(part, isList)) : undefined
  if (error === undefined && rejected === undefined) return result
  const thrown = error ?? rejected?.reason ?? new Error('A promise was rejected without a reason.')
  if (typeof thrown === 'object')
    returned.set(thrown, rejected ? 'use Promise.all, not Promise.allSettled.' : 'write throw, not return.')
  throw thrown
}

/** Returns a sentence about errors if one of them was returned; otherwise an empty text. */
export function explainReturned(errors: readonly unknown[]): string {
  const fix = errors.map((error) => returned.get(Object(error))).find((each) => each !== undefined)
  return fix === undefined ? '' : ` Its error was returned, and counts as thrown: ${fix}`
}

/** Returns true for what may be a result of `Promise.allSettled`, which has two fields. Records may have them among others. */
function isSettled(value: unknown): value is PromiseSettledResult<unknown> {
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== 2) return false
  const { status } = value as Partial<PromiseSettledResult<unknown>> // any object may be asked
  return status === 'rejected' ? 'reason' in value : status === 'fulfilled' && 'value' in value
}

/** Returns true for a rejection. The reason of a single one is an error: a record may say why it was rejected. */
function isRejected(value: unknown, isInList: boolean): value is PromiseRejectedResult {
  return isSettled(value) && value.status === 'rejected' && (isInList || isErrorObject(value.reason))
}

/** Returns true for an error of any realm, and not for a record with its fields. */
function isErrorObject(value: unknown): value is Error {
  return types.isNativeError(value) || value instanceof Error
}

function whyUnfinished(result: unknown, parts: readonly unknown[], isUsed: boolean): string | undefined {
  if (typeof result === 'function') return 'a function, which nobody calls: call it, or return nothing.'
  if (typeof result !== 'object' || result === null) return undefined
  const status = [result, ...parts].map((part) => failedStatus(part, isUsed)).find((each) => each !== undefined)
  if (status !== undefined) return `a response of HTTP ${status}, which nobody looks at: throw unless response.ok.`
  if (isObservable(result))
    return 'an Observable, which nobody subscribes to: return lastValueFrom(it, { defaultValue: undefined }).'
  if (EFFECT in result) return 'an Effect, which nobody runs: return Effect.runPromise(it).'
  if (isGenerator(result)) return GENERATOR
  if (parts.some(isGenerator)) return `a list: its first unfinished part is ${GENERATOR}`
  if (!parts.some(isThenable)) return undefined
  for (const part of parts) ignoreRejection(part)
  return 'a list of promises, which nobody waits for: return Promise.all(list).'
}

/** Fields of responses. An object that has others as well may be a record, which has a status of its own. */
const OF_RESPONSE = ['ok', 'status', 'statusCode', 'statusText', 'headers', 'body', 'data', 'error', 'message']

/** Returns the status of a response that is not ok, of fetch, of a client that does not throw either, or made by the handler. */
function failedStatus(value: unknown, isUsed: boolean): number | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { ok, status, statusCode = status, statusText, headers, body } = value as Readonly<Record<string, unknown>> // any object may be asked
  if (typeof statusCode !== 'number') return undefined
  const isFailure = ok === undefined ? statusCode >= 400 : ok === false
  if ((headers ?? statusText ?? body) !== undefined) return isFailure ? statusCode : undefined
  const isBare = !isUsed && Object.keys(value).every((name) => OF_RESPONSE.includes(name))
  return isFailure && isBare && statusCode >= 400 && statusCode < 600 ? statusCode : undefined
}

/** Marks the lazy values of the package "effect". */
const EFFECT = Symbol.for('effect/Effect')

const GENERATOR =
  'a generator or a lazy iterator, of which nothing runs until something iterates it: write an async function without a star, and await instead of yield; of an iterator of promises return Promise.all(iterator).'

/** Compiled generators have no tag of their own, but the methods. Of a mock, each property may be a function. */
function isGenerator(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || isThenable(value)) return false
  const { next, throw: raise } = value as { readonly next?: unknown; readonly throw?: unknown } // any object may be asked
  if (typeof next !== 'function') return false
  return /Iterator Helper\]$/.test(tagOf(value)) || (typeof raise === 'function' && isOwnIterator(value))
}

function isOwnIterator(value: object): boolean {
  const own = value as { readonly [Symbol.iterator]?: () => unknown; readonly [Symbol.asyncIterator]?: () => unknown } // any object may be asked
  return own[Symbol.iterator]?.() === value || own[Symbol.asyncIterator]?.() === value
}

/** Levels of lists in lists that are searched. */
const MOST_NESTED = 3

/** Returns the parts of an array, and of the arrays in it, of a collection, or of the iterator of one, which has no other reader; and promises in an object. */
function listOf(value: unknown): readonly unknown[] {
  if (types.isSet(value) || types.isMap(value)) return [...value.values()]
  if (Array.isArray(value)) return value.some(Array.isArray) ? value.flat(MOST_NESTED) : value
  if (/^\[object (Array|Map|Set) Iterator\]$/.test(tagOf(value))) return [...(value as Iterable<unknown>)] // by its tag
  // An entity with lazy relations has other fields as well.
  const fields = isPlain(value) ? Object.values(value) : []
  return fields.every(isThenable) ? fields : []
}

function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value)
}

function isObservable(value: object): boolean {
  if (!('subscribe' in value) || !('pipe' in value)) return false
  return typeof value.subscribe === 'function' && typeof value.pipe === 'function'
}
