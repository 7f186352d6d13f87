import pg from 'pg'
import { postgresProgram, startPostgres } from '../../test/engines/postgres-server.ts'
import type { ClaimFigures } from '../claim-figures.ts'
import { Contestant, medianOf, playRounds, print, ratioOf } from '../harness.ts'

const LOADS = [
  { beside: 1, claims: 500 },
  { beside: 32, claims: 5_000 },
  { beside: 256, claims: 10_000 },
]
const TABLES = { postern: 'postern_claims', 'one by one': 'one_by_one' }

/**
 * Row 8 of the goals: claims that wait together go in one statement, compared with one INSERT … ON CONFLICT for each by the same client.
 */
export async function benchPostgres({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  if (postgresProgram === undefined) return
  const server = await startPostgres()
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  const names = ['postern', 'one by one'] as const
  const contestants = names.map((name) => new Contestant(name, 'postgres/worker.mjs', [server.url, name]))
  const rounds = isQuick ? 3 : 9
  try {
    for (const contestant of contestants) await contestant.ask<ClaimFigures>({ claims: 2_000, beside: 32 })
    const rows = [
      [
        'ids stored',
        'claims at once',
        'claims/s',
        'one by one',
        'rate',
        'µs CPU',
        'one by one',
        'CPU',
        'p99 ms',
        'one by one',
      ],
    ]
    for (const size of isQuick ? [10_000, 100_000] : [10_000, 100_000, 1_000_000]) {
      for (const name of names) await fill(client, TABLES[name], size)
      for (const { beside, claims } of LOADS) {
        const [own = [], other = []] = await playRounds(contestants, { warmUp: 1, rounds }, (contestant) =>
          contestant.ask<ClaimFigures>({ claims, beside }),
        )
        rows.push([size.toLocaleString('en'), String(beside), ...toCells(own, other)])
      }
    }
    print(`Postgres, as it comes, a pool of 10 (medians of ${rounds} rounds; ratios within a round)`, rows)
  } finally {
    for (const contestant of contestants) contestant.stop()
    await client.end()
    await server.remove()
  }
}

/** Fills the table up to so many rows, in the state of done claims. */
async function fill(client: pg.Client, table: string, size: number): Promise<void> {
  const { rows } = await client.query(`SELECT count(*)::int AS stored FROM ${table}`)
  const missing = size - Number(rows[0]?.stored)
  const key = `'7:default4:acme28:evt_' || substr(md5(random()::text), 1, 24)`
  const columns = table === 'one_by_one' ? '(key, until)' : '(key, token, done, kept_until, swept_after)'
  const values =
    table === 'one_by_one' ? `${key}, now()` : `${key}, 'x', true, now() + interval '7 days', now() + interval '7 days'`
  await client.query(
    `INSERT INTO ${table} ${columns} SELECT ${values} FROM generate_series(1, ${Math.max(missing, 0)}) ON CONFLICT DO NOTHING`,
  )
  await client.query(`VACUUM ANALYZE ${table}`)
  await client.query('CHECKPOINT')
}

function toCells(own: readonly ClaimFigures[], other: readonly ClaimFigures[]): readonly string[] {
  const pair = (pick: (figures: ClaimFigures) => number, digits: number) =>
    [own, other].map((figures) =>
      medianOf(figures, pick).toLocaleString('en', { maximumFractionDigits: digits, minimumFractionDigits: digits }),
    )
  const ratio = (pick: (figures: ClaimFigures) => number) => ratioOf(own, other, pick).toFixed(2)
  return [
    ...pair(({ rate }) => rate, 0),
    ratio(({ rate }) => rate),
    ...pair(({ cpu }) => cpu, 1),
    ratio(({ cpu }) => cpu),
    ...pair(({ p99 }) => p99, 1),
  ]
}
