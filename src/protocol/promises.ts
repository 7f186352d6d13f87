import { types } from 'node:util'

/** Returns whether a value has to be awaited. Reads `then`, which may throw on values that come from an app. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    'then' in value &&
    typeof value.then === 'function'
  )
}

/**
 * Keeps a promise that nobody waits for from ending the process if it rejects. Does nothing with other values: query builders begin
 * their query when `then` is called.
 */
export function ignoreRejection(value: unknown): void {
  if (!types.isPromise(value)) return
  try {
    Promise.prototype.then.call(value, undefined, () => {}) // its own `then` may do more
  } catch {
    // Its class makes no promises without more than a function.
  }
}

/** Waits for what a hook returned, also for each promise of a list. */
export async function awaitReturned(returned: unknown): Promise<void> {
  const result = await returned
  if (Array.isArray(result) && result.some(isThenable)) await Promise.all(result)
}

/** The most objects whose fields are looked at within a value that was refused. */
const MOST_PARTS = 1_000

/**
 * Keeps promises that stand in a value that was refused from ending the process. Never throws, whatever the value is, and is quick with
 * large ones: strangers may have sent what an app passes on by mistake.
 */
export function ignoreRejections(value: unknown): void {
  if (typeof value !== 'object') return
  const parts = new Set([value])
  ignoreRejection(value)
  // A Set is walked in the order of insertion, what is added on the way included.
  for (const part of parts)
    for (const inner of read(() => partsOf(part)) ?? []) {
      if (typeof inner !== 'object') continue
      ignoreRejection(inner)
      if (parts.size < MOST_PARTS) parts.add(inner)
    }
}

function partsOf(value: object | null): readonly unknown[] {
  if (ArrayBuffer.isView(value)) return []
  if (Array.isArray(value) || value instanceof Map || value instanceof Set) return [...value.values()]
  const fields = Object(value) as object
  return Object.keys(fields).map((key) => read((): unknown => Reflect.get(fields, key)))
}

/** Getters and proxies of an app may throw. */
function read<T>(get: () => T): T | undefined {
  try {
    return get()
  } catch {
    return undefined
  }
}

/** Returns whether a value is an iterator that can be iterated over: a generator, or `map` of another iterator. */
function isIterator(value: unknown): boolean {
  const isFunction = (name: string | symbol) =>
    typeof read((): unknown => Reflect.get(Object(value), name)) === 'function'
  return isFunction('next') && (isFunction(Symbol.iterator) || isFunction(Symbol.asyncIterator))
}

/**
 * Returns what a handler returned. Throws if that is work that nobody would do or wait for: a list of promises, or of such lists, a
 * function, or an iterator, such as what a generator function returned.
 */
export function refuseUnfinished<T>(result: T, who = 'The handler'): T {
  if (result == null || isThenable(result)) return result
  if (Array.isArray(result)) {
    if (!result.some((part) => isThenable(part) || (Array.isArray(part) && part.some(isThenable)))) return result
    for (const part of result) ignoreRejections(part)
    throw new TypeError(`${who} returned a list of promises, which nobody waits for: return Promise.all(list).`)
  }
  if (typeof result === 'function')
    throw new TypeError(`${who} returned a function, which nobody calls: call it, or return nothing.`)
  if (isIterator(result))
    throw new TypeError(
      `${who} returned an iterator or generator, which nobody runs: iterate over it, and return nothing.`,
    )
  return result
}
