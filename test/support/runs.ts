/** How often a property runs: short by default, a hundred times as often with LONG=1. */
export function runs(count: number): { readonly numRuns: number } {
  return { numRuns: process.env.LONG === '1' ? count * 100 : count }
}
