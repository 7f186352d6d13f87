import pg from 'pg'
import { postgresProgram, startPostgres } from '../../test/engines/postgres-server.ts'
import { Contestant, medianOf, playRounds, print, ratioOf } from '../harness.ts'
import { ACCEPTED, BESIDE, type Figures, ROWS, toCells, toMost, toRate } from './figures.ts'

/**
 * Measures events accepted and handled on Postgres, which writes to disk before it answers, with an empty inbox and with a backlog: compared
 * with a bare insert of the same bytes by the same client into a table of the same size, one at a time, and grouped.
 */
export async function benchPostgresInbox({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  if (postgresProgram === undefined) return
  const server = await startPostgres('fsync=on')
  const rounds = isQuick ? 3 : 7
  const sizes = [0, isQuick ? 100_000 : 1_000_000]
  const names = ROWS.flatMap((end) => sizes.map((size) => size.toLocaleString('en') + end))
  const make = (kind: string) =>
    sizes.map((size) => new Contestant(kind, 'inbox/postgres-worker.mjs', [server.url, kind, toSchema(kind, size)]))
  await makeSchemas(server.url, sizes)
  const [bare, grouped] = [make('bare'), make('grouped')]
  const ours = [...make('postern'), ...make('lanes')]
  const all = [...bare, ...grouped, ...ours]
  try {
    for (const contestants of [bare, grouped, ours])
      for (const [index, contestant] of contestants.entries())
        for (let left = sizes[index % 2] ?? 0; left > 0; left -= 100_000) await contestant.ask({ fill: 100_000 })
    const accepted: string[][] = [['at once', ...ACCEPTED]]
    for (const [beside, accept, others] of [
      [1, 300, bare],
      [BESIDE, 6_000, grouped],
    ] as const) {
      const figures = await playRounds([...others, ...ours], { warmUp: 1, rounds }, (contestant) =>
        contestant.ask<Figures>({ accept, beside }),
      )
      for (const [index, name] of names.entries())
        accepted.push([String(beside), name, ...toCells(figures[2 + index] ?? [], figures[index % 2] ?? [])])
    }
    const worked = [['backlog', 'events/s', 'of an empty inbox', 'µs CPU', 'of an empty inbox', 'counts() ms', 'MiB']]
    const figures = await playRounds(ours, { warmUp: 1, rounds }, (contestant) =>
      contestant.ask<Figures>({ work: 3_000 }),
    )
    for (const [index, name] of names.entries()) {
      const [mine = [], base = []] = [figures[index], figures[index - (index % 2)]]
      const counting = await ours[index]?.ask<{ readonly ms: number }>({ counts: 1 })
      worked.push([
        ...[name, toRate(mine), ratioOf(mine, base, ({ rate }) => rate).toFixed(2)],
        ...[medianOf(mine, ({ cpu }) => cpu).toFixed(1), ratioOf(mine, base, ({ cpu }) => cpu).toFixed(2)],
        ...[(counting?.ms ?? 0).toFixed(1), toMost(mine)],
      ])
    }
    print(
      `Postgres inbox: accepted, beside a bare durable insert, grouped at ${BESIDE} at once (medians of ${rounds} rounds)`,
      accepted,
    )
    print(`Postgres inbox: worked off, 100 at once, handlers that do nothing (medians of ${rounds} rounds)`, worked)
  } finally {
    for (const contestant of all) contestant.stop()
    await server.remove()
  }
}

/** Both inboxes have tables of the same names. */
function toSchema(kind: string, size: number): string {
  return `${kind === 'lanes' ? 'lanes' : 'rows'}_${size}`
}

async function makeSchemas(connectionString: string, sizes: readonly number[]): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  for (const kind of ['bare', 'lanes'])
    for (const size of sizes) await client.query(`CREATE SCHEMA ${toSchema(kind, size)}`)
  await client.end()
}
