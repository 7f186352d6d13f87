/** The number of runs of a property: few by default, a hundred times as many with LONG=1. */
export function runs(count: number): { readonly numRuns: number } {
  return { numRuns: process.env.LONG === '1' ? count * 100 : count }
}
