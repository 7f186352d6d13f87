import type { Clock } from '../host/clock.ts'

/** The work did not end in time. It may still end. */
export class TimeUp extends Error {
  override readonly name = 'TimeUp'
}

/**
 * Waits for work for `ms` milliseconds at most.
 *
 * @param onLate gets the value of work that ended after its time, so that what it took can be given back
 */
export function within<T>(
  clock: Clock,
  ms: number,
  what: string,
  work: PromiseLike<T>,
  onLate?: (value: T) => void,
): Promise<T> {
  const settled = Promise.resolve(work)
  return new Promise((resolve, reject) => {
    let isLate = false
    const timer = clock.setTimeout(() => {
      isLate = true
      reject(new TimeUp(`${what} did not answer within ${Math.round(ms)} ms`))
    }, ms)
    settled.then(
      (value) => {
        clock.clearTimeout(timer)
        if (isLate) onLate?.(value)
        else resolve(value)
      },
      (error: unknown) => {
        clock.clearTimeout(timer)
        reject(error)
      },
    )
  })
}

/** Calls, and goes on without waiting where the answer is there at once. One of the two continuations is called, once. */
export function callWithin<T>(
  clock: Clock,
  ms: number,
  what: string,
  call: () => T | PromiseLike<T>,
  onAnswer: (answer: T) => void,
  onFailure: (cause: unknown) => void,
): void {
  let answer: T | PromiseLike<T>
  try {
    answer = call()
    if (isThenable(answer)) {
      within(clock, ms, what, answer).then(onAnswer, onFailure)
      return
    }
  } catch (error) {
    return onFailure(error)
  }
  onAnswer(answer)
}

/** Whether this has to be awaited. Reads `then`, which may throw on values that come from a handler. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    'then' in value &&
    typeof value.then === 'function'
  )
}
