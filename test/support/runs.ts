import fc from 'fast-check'

/** The number of runs that a property makes even after its limit. */
const FLOOR = 5

interface Runs {
  readonly numRuns: number
  readonly plugins?: fc.Plugin<unknown>[]
}

/**
 * The number of runs of a property: few by default, and fewer if the machine is so slow that they take longer than the limit. With LONG=1 a
 * hundred times as many, however long they take.
 */
export function runs(count: number, limitMs = 30_000): Runs {
  return process.env.LONG === '1' ? { numRuns: count * 100 } : { numRuns: count, plugins: [endAfter(limitMs)] }
}

/** Ends a property between two runs. fast-check's own limit also abandons the run that is going on, and fails if that was the first. */
function endAfter(limitMs: number): fc.Plugin<unknown> {
  return (...context) => {
    const expired = fc.interruptAfterTimeLimit(0)(...context)
    const limit = performance.now() + limitMs
    let started = 0
    return {
      ...expired,
      decorateRun(run) {
        const end = expired.decorateRun?.(run) ?? run
        return (value) => (started++ < FLOOR || performance.now() < limit ? run(value) : end(value))
      },
    }
  }
}
