import { compare } from '../compare.ts'
import { Contestant } from '../harness.ts'

const OWN = ['floor', 'postern', 'postern-null-store', 'postern-schema', 'careful', 'octokit', 'octokit-dedupe']
const CONTESTS = [
  { size: 611, count: 10_000, names: [...OWN, 'stripe', 'standardwebhooks', 'svix', 'tern'] },
  { size: 16 * 1024, count: 2_000, names: ['floor', 'postern', 'octokit'] },
  { size: 256 * 1024, count: 150, names: ['floor', 'postern', 'octokit'] },
]
/** Costs twenty times as much as the others, and would take most of the time of a run. */
const SLOW = 'tern'

/** Rows 1 and 2 of the goals: the path from the bytes to the handler, compared with the floor and with peers. */
export async function benchInProcess({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  const effort = isQuick ? { processes: 1, warmUp: 2, rounds: 5 } : { processes: 3, warmUp: 4, rounds: 9 }
  for (const { size, count, names } of CONTESTS)
    await compare(
      {
        title: `in process, ${size} bytes`,
        names,
        start: (name) => new Contestant(name, 'in-process/worker.mjs', [name, String(size)], ['--expose-gc']),
        check: (contestant) => contestant.ask({ count: 0 }),
        play: (contestant) => contestant.ask<number>({ count: contestant.name === SLOW ? count / 10 : count }),
      },
      effort,
    )
}
