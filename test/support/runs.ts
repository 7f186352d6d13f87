import fc from 'fast-check'

/** The time after which a property makes no further run, and the number of runs that it makes even then. */
const LIMIT_MS = 30_000
const FLOOR = 5

/**
 * The number of runs of a property: few by default, and fewer if the machine is so slow that they take half a minute. With LONG=1 a hundred
 * times as many, however long they take.
 */
export function runs(count: number): { readonly numRuns: number; readonly plugins?: fc.Plugin<unknown>[] } {
  return process.env.LONG === '1' ? { numRuns: count * 100 } : { numRuns: count, plugins: [endAtLimit] }
}

/** fast-check's own limit also abandons the run that is going on, and fails if that was the first. */
const endAtLimit: fc.Plugin<unknown> = (...context) => {
  const expired = fc.interruptAfterTimeLimit(0)(...context)
  const limit = performance.now() + LIMIT_MS
  let started = 0
  return {
    ...expired,
    decorateRun(run) {
      const end = expired.decorateRun?.(run) ?? run
      return (value) => (started++ < FLOOR || performance.now() < limit ? run(value) : end(value))
    },
  }
}
