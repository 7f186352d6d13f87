import { compare } from '../compare.ts'
import { Contestant } from '../harness.ts'

/** Row 10 of the goals: refusing must not cost more than checking, and nothing is read or hashed without a well-formed signature. */
export async function benchRefusals({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  await compare(
    {
      title: 'refusals, 611 bytes',
      names: ['HMAC and compare', 'forged signature', 'missing signature', 'malformed signature'],
      start: (name) => new Contestant(name, 'refusals/worker.mjs', [name]),
      check: (contestant) => contestant.ask({ count: 1 }),
      play: (contestant) => contestant.ask<number>({ count: 20_000 }),
    },
    isQuick ? { processes: 1, warmUp: 2, rounds: 5 } : { processes: 3, warmUp: 4, rounds: 9 },
  )
}
