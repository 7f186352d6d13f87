import { Contestant, median, playRounds, print, ratio } from '../harness.ts'

const SIZES = [
  { size: 611, count: 10_000, peers: ['octokit', 'stripe', 'standardwebhooks', 'svix', 'tern'] },
  { size: 16 * 1024, count: 2_000, peers: ['octokit'] },
  { size: 256 * 1024, count: 150, peers: ['octokit'] },
]

/** Rows 1 and 2 of the goals: everything between bytes in hand and the handler, against the floor and against peers. */
export async function benchInProcess({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  for (const { size, count, peers } of SIZES) {
    const names = ['floor', 'postern', ...(size === 611 ? ['postern-schema'] : []), ...peers]
    const contestants = names.map((name) => new Contestant(name, 'in-process/worker.mjs', [name, String(size)]))
    try {
      for (const contestant of contestants) await contestant.ask({ count: 0 })
      const effort = isQuick ? { warmUp: 2, rounds: 5 } : { warmUp: 5, rounds: 15 }
      const times = await playRounds(contestants, effort, (contestant) =>
        contestant.ask<number>({ count: contestant.name === 'tern' ? count / 10 : count }),
      )
      print(
        `in process, ${size} bytes: CPU a delivery, and its ratio to the floor (median of ${effort.rounds} rounds)`,
        [
          ['', 'µs', 'ratio'],
          ...names.map((name) => [
            name,
            median(times.get(name) ?? []).toFixed(2),
            ratio(times, name, 'floor').toFixed(3),
          ]),
        ],
      )
    } finally {
      for (const contestant of contestants) contestant.stop()
    }
  }
}
