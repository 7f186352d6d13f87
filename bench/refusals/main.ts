import { Contestant, median, playRounds, print, ratio } from '../harness.ts'

const FLOOR = 'HMAC and compare alone'
const NAMES = [FLOOR, 'forged signature', 'missing signature', 'malformed signature']

/** Row 10 of the goals: refusing must not cost more than checking, and nothing is read or hashed without a well-formed signature. */
export async function benchRefusals({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  const contestants = NAMES.map((name) => new Contestant(name, 'refusals/worker.mjs', [name]))
  try {
    const effort = isQuick ? { warmUp: 2, rounds: 5 } : { warmUp: 4, rounds: 15 }
    const times = await playRounds(contestants, effort, (contestant) => contestant.ask<number>({ count: 20_000 }))
    print(
      `refusals, 611 bytes: CPU each (median of ${effort.rounds} rounds); a body that was read or a handler that ran fails the run`,
      [
        ['', 'µs', 'ratio'],
        ...NAMES.map((name) => [name, median(times.get(name) ?? []).toFixed(2), ratio(times, name, FLOOR).toFixed(3)]),
      ],
    )
  } finally {
    for (const contestant of contestants) contestant.stop()
  }
}
