/**
 * The number of runs of a property: few by default, and fewer if the machine is so slow that they take half a minute. With LONG=1 a hundred
 * times as many, however long they take.
 */
export function runs(count: number): { readonly numRuns: number; readonly interruptAfterTimeLimit?: number } {
  return process.env.LONG === '1' ? { numRuns: count * 100 } : { numRuns: count, interruptAfterTimeLimit: 30_000 }
}
