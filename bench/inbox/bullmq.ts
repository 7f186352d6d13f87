import { redisProgram, startRedis } from '../../test/engines/redis-server.ts'
import { Contestant, medianOf, playRounds, print, ratioOf } from '../harness.ts'
import { ACCEPTED, BESIDE, type Figures, toCells, toMost, toRate } from './figures.ts'

/** Compares the inbox on BullMQ with a bare durable insert by the same client on the same Redis, which writes to disk before it answers. */
export async function benchBullmq({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  if (redisProgram === undefined) return
  const server = await startRedis('--appendfsync', 'always')
  const rounds = isQuick ? 3 : 7
  const most = isQuick ? 100_000 : 1_000_000
  const contestants = ['bare', 'postern'].map(
    (kind) => new Contestant(kind, 'inbox/bullmq-worker.mjs', [server.url, kind]),
  )
  const ours = contestants.at(-1)
  const accepted: (readonly string[])[] = [ACCEPTED]
  const worked = [['backlog', 'events/s', 'of an empty inbox', 'µs CPU', 'of an empty inbox', 'counts() ms', 'MiB']]
  let base: readonly Figures[] | undefined
  try {
    for (const backlog of [0, most]) {
      for (let left = backlog; left > 0; left -= 50_000) await ours?.ask({ fill: 50_000 })
      const [bare = [], mine = []] = await playRounds(contestants, { warmUp: 1, rounds }, (contestant) =>
        contestant.ask<Figures>({ accept: 2_000, beside: BESIDE }),
      )
      const counting = await ours?.ask<{ readonly ms: number }>({ counts: 1 })
      const [runs = []] = await playRounds(contestants.slice(1), { warmUp: 1, rounds }, (contestant) =>
        contestant.ask<Figures>({ work: 1_500 }),
      )
      base ??= runs
      const size = backlog.toLocaleString('en')
      accepted.push([size, ...toCells(mine, bare)])
      worked.push([
        size,
        ...[toRate(runs), ratioOf(runs, base, ({ rate }) => rate).toFixed(2)],
        ...[medianOf(runs, ({ cpu }) => cpu).toFixed(1), ratioOf(runs, base, ({ cpu }) => cpu).toFixed(2)],
        ...[(counting?.ms ?? 0).toFixed(1), toMost(runs)],
      ])
    }
  } finally {
    for (const contestant of contestants) contestant.stop()
    await server.remove()
  }
  const name = 'BullMQ inbox'
  print(`${name}: accepted, ${BESIDE} at once, beside a bare durable insert (medians of ${rounds} rounds)`, accepted)
  print(`${name}: worked off, 100 at once, handlers that do nothing (medians of ${rounds} rounds)`, worked)
}
