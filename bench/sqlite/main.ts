import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClaimFigures } from '../claim-figures.ts'
import { Contestant, medianOf, playRounds, print } from '../harness.ts'

interface Figures extends ClaimFigures {
  readonly driver: string
  readonly stall: number
  readonly disk: number
}

const PROCESSES = 4

/** Row 9 of the goals: grouped claims on a file that is written synchronously, from 10^4 to 10^6 ids, by one process and by several. */
export async function benchSqlite({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-sqlite-'))
  try {
    await benchOneProcess(join(folder, 'one.db'), isQuick)
    for (const synchronous of ['full', 'normal']) await benchSeveral(join(folder, `${synchronous}.db`), synchronous)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function benchOneProcess(path: string, isQuick: boolean): Promise<void> {
  const worker = new Contestant('one process', 'sqlite/worker.mjs', [path, 'full'])
  try {
    const rounds = isQuick ? 3 : 7
    const rows: string[][] = [
      ['ids stored', 'claims at once', 'claims/s', 'µs CPU', 'p99 ms', 'longest stall ms', 'disk ms'],
    ]
    let [stored, driver] = [0, '']
    for (const size of isQuick ? [10_000, 100_000] : [10_000, 100_000, 1_000_000]) {
      while (stored < size) stored += await fill(worker, Math.min(size - stored, 100_000))
      for (const [beside, claims] of [
        [256, 20_000],
        [32, 5_000],
        [1, 500],
      ] as const) {
        const [taken = []] = await playRounds([worker], { warmUp: 0, rounds }, () =>
          worker.ask<Figures>({ claims, beside }),
        )
        stored += rounds * claims
        driver = taken[0]?.driver ?? ''
        rows.push([size.toLocaleString('en'), String(beside), ...toCells(taken)])
      }
    }
    print(
      `SQLite, ${driver}, one process, FULL (medians of ${rounds} rounds; stall and disk, 1 MiB written for good, are the worst of all)`,
      rows,
    )
  } finally {
    worker.stop()
  }
}

async function benchSeveral(path: string, synchronous: string): Promise<void> {
  const workers = Array.from(
    { length: PROCESSES },
    (_, index) => new Contestant(`process ${index + 1}`, 'sqlite/worker.mjs', [path, synchronous]),
  )
  try {
    await Promise.all(workers.map((worker) => worker.ask<Figures>({ claims: 1_000, beside: 64 })))
    const figures = await Promise.all(workers.map((worker) => worker.ask<Figures>({ claims: 10_000, beside: 64 })))
    print(`SQLite, ${PROCESSES} processes on one file, ${synchronous.toUpperCase()}, 64 claims at once in each`, [
      ['', 'claims/s', 'µs CPU', 'p99 ms', 'longest stall ms', 'disk ms'],
      ...figures.map((figure, index) => [`process ${index + 1}`, ...toCells([figure])]),
    ])
  } finally {
    for (const worker of workers) worker.stop()
  }
}

async function fill(worker: Contestant, claims: number): Promise<number> {
  await worker.ask<Figures>({ claims, beside: 256 })
  return claims
}

function toCells(taken: readonly Figures[]): readonly string[] {
  return [
    Math.round(medianOf(taken, ({ rate }) => rate)).toLocaleString('en'),
    medianOf(taken, ({ cpu }) => cpu).toFixed(1),
    medianOf(taken, ({ p99 }) => p99).toFixed(1),
    Math.max(...taken.map(({ stall }) => stall)).toFixed(1),
    Math.max(...taken.map(({ disk }) => disk)).toFixed(1),
  ]
}
