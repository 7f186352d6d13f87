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
