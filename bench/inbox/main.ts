import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Contestant, medianOf, playRounds, print } from '../harness.ts'
import { ACCEPTED, BESIDE, type Figures, toCells, toMost, toRate } from './figures.ts'

/**
 * Measures events accepted and handled on a SQLite file, with an empty inbox and with a backlog, compared with a bare durable insert of the
 * same bytes by the same driver into a table of the same size.
 */
export async function benchInbox({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-inbox-'))
  const contestants = ['bare', 'postern'].map(
    (kind) => new Contestant(kind, 'inbox/worker.mjs', [join(folder, `${kind}.db`), kind]),
  )
  try {
    const rounds = isQuick ? 3 : 7
    const accepted: (readonly string[])[] = [ACCEPTED]
    const worked: string[][] = [
      ['backlog', 'events/s', 'µs CPU', 'of an empty inbox', 'bare', 'of an empty table', 'MiB'],
    ]
    let base: readonly number[] | undefined
    for (const backlog of isQuick ? [0, 100_000] : [0, 1_000_000]) {
      for (let left = backlog; left > 0; left -= 100_000)
        for (const contestant of contestants) await contestant.ask({ fill: Math.min(left, 100_000) })
      const [bare = [], ours = []] = await playRounds(contestants, { warmUp: 1, rounds }, (contestant) =>
        contestant.ask<Figures>({ accept: 4_000, beside: BESIDE }),
      )
      const size = backlog.toLocaleString('en')
      accepted.push([size, ...toCells(ours, bare)])
      const work = await playRounds(contestants, { warmUp: 1, rounds }, (contestant) =>
        contestant.ask<Figures>({ work: 3_000 }),
      )
      const [bareWork = [], ourWork = []] = work
      const [bareCpu, ourCpu] = [bareWork, ourWork].map((figures) => medianOf(figures, ({ cpu }) => cpu)) as [
        number,
        number,
      ] // two in, two out
      base ??= [bareCpu, ourCpu]
      const [bareBase = bareCpu, ourBase = ourCpu] = base
      worked.push([
        size,
        toRate(ourWork),
        ...[ourCpu.toFixed(1), (ourCpu / ourBase).toFixed(2), bareCpu.toFixed(1), (bareCpu / bareBase).toFixed(2)],
        toMost(ourWork),
      ])
    }
    print(
      `SQLite inbox: accepted, ${BESIDE} at once, beside a bare durable insert (medians of ${rounds} rounds)`,
      accepted,
    )
    print(`SQLite inbox: worked off, 100 at once, handlers that do nothing (medians of ${rounds} rounds)`, worked)
  } finally {
    for (const contestant of contestants) contestant.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
