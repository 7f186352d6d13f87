import type { Clock } from './clock.ts'

/**
 * Waits for work, `limitMs` at most. Never rejects: `toResult` makes something of the value, `toFailure` of what the work rejected
 * with, or of an error if it took too long.
 *
 * @param onLate takes a value that came after the limit
 */
export function waitFor<T, Result>(
  clock: Clock,
  work: PromiseLike<T>,
  limitMs: number,
  toResult: (value: T) => Result,
  toFailure: (cause: unknown) => Result,
  onLate?: (value: T) => void,
): Promise<Result> {
  const settled = Promise.resolve(work)
  return new Promise((resolve) => {
    let isLate = false
    const timer = clock.setTimeout(() => {
      isLate = true
      const why = limitMs > 0 ? `no answer within ${Math.round(limitMs)} ms` : 'no time was left when it was asked'
      resolve(toFailure(new Error(why)))
    }, limitMs)
    settled
      .then((value) => {
        if (isLate) return onLate?.(value)
        clock.clearTimeout(timer)
        resolve(toResult(value))
      })
      .catch((cause: unknown) => {
        clock.clearTimeout(timer)
        resolve(toFailure(cause))
      })
  })
}
