import { loadWithFault } from './bundle.ts'
import type { Violation } from './findings.ts'
import type { PlantedFault } from './planted/planted-fault.ts'
import { simulate } from './simulate.ts'
import { drawIn } from './worlds.ts'

/** The run that found a planted fault. */
export interface Found {
  readonly seed: number
  /** The number of runs that it took. */
  readonly runs: number
  readonly violation: Violation
}

/** Runs seeds with a planted fault until one finds it, `most` of them at most. Seeds of another theme are skipped. */
export async function search(fault: PlantedFault, from: number, most: number): Promise<Found | undefined> {
  const subject = await loadWithFault(fault)
  let runs = 0
  for (let seed = from; runs < most; seed++) {
    const plan = drawIn(fault.theme === 'inbox' ? 'inbox' : 'direct', seed)
    if (fault.theme !== undefined && plan.theme !== fault.theme) continue
    runs++
    const { violations } = await simulate(plan, subject)
    const [violation] = violations
    if (violation !== undefined) return { seed, runs, violation }
  }
  return undefined
}
