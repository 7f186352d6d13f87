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
 * Returns what a handler returned. Throws for a list of promises, which Promise.all was forgotten for, for a function, and for an Observable
 * of RxJS: nobody would await, call or subscribe to them.
 */
export function refuseUnfinished<T>(result: T, who = 'The handler'): T {
  if (typeof result === 'function' && !isThenable(result))
    throw new TypeError(`${who} returned a function, which nobody calls: call it, or return nothing.`)
  if (isObservable(result))
    throw new TypeError(
      `${who} returned an Observable, which nobody subscribes to: return lastValueFrom(it, { defaultValue: undefined }).`,
    )
  if (!Array.isArray(result) || !result.some(isThenable)) return result
  for (const part of result) ignoreRejection(part)
  throw new TypeError(`${who} returned a list of promises, which nobody waits for: return Promise.all(list).`)
}

function isObservable(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('subscribe' in value) || !('pipe' in value)) return false
  return typeof value.subscribe === 'function' && typeof value.pipe === 'function' && !isThenable(value)
}
