import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Contestant, medianOf, playRounds, print } from '../harness.ts'
import { ACCEPTED, BESIDE, type Figures, ROWS, toCells, toMost, toRate } from './figures.ts'

/**
 * Measures events accepted and handled on a SQLite file, with an empty inbox and with a backlog, compared with a bare durable insert of the
 * same bytes by the same driver into a table of the same size.
 */
export async function benchInbox({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-inbox-'))
  const contestants = ['bare', 'postern', 'lanes'].map(
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
      const [bare = [], ...accepting] = await playRounds(contestants, { warmUp: 1, rounds }, (contestant) =>
        contestant.ask<Figures>({ accept: 4_000, beside: BESIDE }),
      )
      const work = await playRounds(contestants, { warmUp: 1, rounds }, (contestant) =>
        contestant.ask<Figures>({ work: 3_000 }),
      )
      const [bareCpu = 0, ...cpus] = work.map((figures) => medianOf(figures, ({ cpu }) => cpu))
      base ??= [bareCpu, ...cpus]
      const [bareBase = bareCpu, ...bases] = base
      for (const [index, name] of ROWS.entries()) {
        const [row, ours, cpu = 0] = [backlog.toLocaleString('en') + name, work[1 + index] ?? [], cpus[index]]
        accepted.push([row, ...toCells(accepting[index] ?? [], bare)])
        worked.push([
          row,
          toRate(ours),
          ...[cpu.toFixed(1), (cpu / (bases[index] ?? cpu)).toFixed(2)],
          ...[bareCpu.toFixed(1), (bareCpu / bareBase).toFixed(2)],
          toMost(ours),
        ])
      }
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
