import { fork } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../../support/repository.ts'
import type { Batch, Told } from './batch-worker.ts'
import { add, noTotals, type Totals } from './totals.ts'

/** The result of many runs. */
export interface BatchReport {
  readonly totals: Totals
  /** The seeds that failed, with the first violation of each. */
  readonly failures: readonly { readonly seed: number; readonly violation: string }[]
}

/** Runs seeds on all cores, each core taking every nth of them. */
export async function runBatch(
  { world, from, count, fault }: Pick<Batch, 'world' | 'from' | 'fault'> & { readonly count: number },
  onProgress: (done: number) => void,
): Promise<BatchReport> {
  const totals = noTotals()
  const failures: { readonly seed: number; readonly violation: string }[] = []
  const cores = Math.max(1, Math.min(availableParallelism(), count))
  await Promise.all(
    Array.from({ length: cores }, async (_, core) => {
      const batch: Batch = { world, from: from + core, end: from + count, stride: cores, fault }
      const worker = fork(join(ROOT, 'test/proofs/simulation/batch-worker.ts'), [JSON.stringify(batch)], {
        execArgv: ['--import', 'tsx'],
        cwd: ROOT,
      })
      worker.on('message', (told: Told) => {
        add(totals, told.totals)
        failures.push(...told.failures)
        onProgress(totals.runs)
      })
      const [code] = (await once(worker, 'close')) as [number | null] // the first argument of the event
      if (code !== 0) throw new Error(`A process of the simulation ended with ${code}.`)
    }),
  )
  return { totals, failures: failures.toSorted((one, other) => one.seed - other.seed) }
}
