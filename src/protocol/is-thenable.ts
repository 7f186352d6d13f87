/** Returns whether a value has to be awaited. Reads `then`, which may throw on values that come from an app. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    'then' in value &&
    typeof value.then === 'function'
  )
}

/** Keeps a promise that nobody waits for from ending the process if it rejects. Does nothing with other values. */
export function ignoreRejection(value: unknown): void {
  if (isThenable(value)) Promise.resolve(value).then(undefined, () => {})
}

/** The depth of promises in what an app returned: a list of bound secrets, each with a list for a rotation. */
const DEPTH = 3

/** Keeps promises that stand in a value that was refused from ending the process. Never throws, whatever the value is. */
export function ignoreRejections(value: unknown, depth = DEPTH): void {
  read(() => ignoreRejection(value))
  if (depth === 0 || typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return
  for (const key of read(() => Object.keys(value)) ?? [])
    ignoreRejections(
      read((): unknown => Reflect.get(value, key)),
      depth - 1,
    )
}

/** Getters and proxies of an app may throw. */
function read<T>(get: () => T): T | undefined {
  try {
    return get()
  } catch {
    return undefined
  }
}

/** Returns what a handler returned. Throws if that is a list of promises: nobody would wait for them. */
export function refusePromises<T>(result: T, who = 'The handler'): T {
  if (!Array.isArray(result) || !result.some(isThenable)) return result
  ignoreRejections(result)
  throw new TypeError(`${who} returned a list of promises, which nobody waits for: return Promise.all(list).`)
}
