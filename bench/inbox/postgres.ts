import { postgresProgram, startPostgres } from '../../test/engines/postgres-server.ts'
import { Contestant, medianOf, playRounds, print, ratioOf } from '../harness.ts'
import { ACCEPTED, BESIDE, type Figures, toCells, toMost, toRate } from './figures.ts'

/**
 * Measures events accepted and handled on Postgres, which writes to disk before it answers, with an empty inbox and with a backlog: compared
 * with a bare insert of the same bytes by the same client into a table of the same size, one at a time, and grouped.
 */
export async function benchPostgresInbox({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  if (postgresProgram === undefined) return
  const server = await startPostgres('fsync=on')
  const contestants = ['by hand', 'by hand, grouped', 'postern'].map(
    (kind) => new Contestant(kind, 'inbox/postgres-worker.mjs', [server.url, kind]),
  )
  const [alone, grouped, ours] = contestants as [Contestant, Contestant, Contestant] // three in, three out
  const rounds = isQuick ? 3 : 7
  const accepted: string[][] = [['at once', ...ACCEPTED]]
  const worked = [
    [
      'backlog',
      'events/s',
      'of an empty inbox',
      'by hand',
      'of an empty table',
      'µs CPU',
      'of an empty inbox',
      'counts() ms',
      'MiB',
    ],
  ]
  let base: readonly (readonly Figures[])[] | undefined
  try {
    for (const backlog of [0, isQuick ? 100_000 : 1_000_000]) {
      const size = backlog.toLocaleString('en')
      for (let left = backlog; left > 0; left -= 100_000)
        for (const contestant of contestants) await contestant.ask({ fill: 100_000 })
      for (const [beside, events, other] of [
        [1, 300, alone],
        [BESIDE, 6_000, grouped],
      ] as const) {
        const [bare = [], mine = []] = await playRounds([other, ours], { warmUp: 1, rounds }, (contestant) =>
          contestant.ask<Figures>({ accept: events, beside }),
        )
        accepted.push([String(beside), size, ...toCells(mine, bare)])
      }
      const counting = await ours.ask<{ readonly ms: number }>({ counts: 1 })
      const figures = await playRounds([grouped, ours], { warmUp: 1, rounds }, (contestant) =>
        contestant.ask<Figures>({ work: 3_000 }),
      )
      base ??= figures
      const [[bare = [], mine = []], [bareBase = [], mineBase = []]] = [figures, base]
      worked.push([
        ...[size, toRate(mine), ratioOf(mine, mineBase, ({ rate }) => rate).toFixed(2)],
        ...[toRate(bare), ratioOf(bare, bareBase, ({ rate }) => rate).toFixed(2)],
        ...[medianOf(mine, ({ cpu }) => cpu).toFixed(1), ratioOf(mine, mineBase, ({ cpu }) => cpu).toFixed(2)],
        ...[counting.ms.toFixed(1), toMost(mine)],
      ])
    }
  } finally {
    for (const contestant of contestants) contestant.stop()
    await server.remove()
  }
  print(
    `Postgres inbox: accepted, beside a bare durable insert, which is grouped too at ${BESIDE} at once (medians of ${rounds} rounds)`,
    accepted,
  )
  print(`Postgres inbox: worked off, 100 at once, handlers that do nothing (medians of ${rounds} rounds)`, worked)
}
