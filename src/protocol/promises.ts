import { types } from 'node:util'

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

/**
 * Returns what a handler returned. Throws for what nobody would await, call, iterate or subscribe to: promises in a list or an iterator, a
 * function, a generator, and an Observable of RxJS.
 */
export function refuseUnfinished<T>(result: T, who = 'The handler'): T {
  const why = isThenable(result) ? undefined : whyUnfinished(result)
  if (why !== undefined) throw new TypeError(`${who} returned ${why}`)
  return result
}

function whyUnfinished(result: unknown): string | undefined {
  if (typeof result === 'function') return 'a function, which nobody calls: call it, or return nothing.'
  if (isObservable(result))
    return 'an Observable, which nobody subscribes to: return lastValueFrom(it, { defaultValue: undefined }).'
  if (isGenerator(result)) return GENERATOR
  const parts = listOf(result)
  if (parts.some(isGenerator)) return `a list: its first unfinished part is ${GENERATOR}`
  if (!parts.some(isThenable)) return undefined
  for (const part of parts) ignoreRejection(part)
  return 'a list of promises, which nobody waits for: return Promise.all(list).'
}

const GENERATOR =
  'a generator or a lazy iterator, of which nothing runs until something iterates it: write an async function without a star, and await instead of yield; of an iterator of promises return Promise.all(iterator).'

/** Compiled generators have no tag of their own, but the three methods. */
function isGenerator(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || isThenable(value)) return false
  const { next, throw: raise } = value as { readonly next?: unknown; readonly throw?: unknown } // any object may be asked
  return typeof next === 'function' && (typeof raise === 'function' || /Iterator Helper\]$/.test(tagOf(value)))
}

/** Returns the parts of an array, or of the iterator of a collection, which has no other reader. */
function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  return /^\[object (Array|Map|Set) Iterator\]$/.test(tagOf(value)) ? [...(value as Iterable<unknown>)] : [] // by its tag
}

function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value)
}

function isObservable(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('subscribe' in value) || !('pipe' in value)) return false
  return typeof value.subscribe === 'function' && typeof value.pipe === 'function'
}
