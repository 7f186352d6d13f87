import { postgresInbox } from 'postern/postgres'
import { beforeAll, describe, expect, it } from 'vitest'
import { makeInboxStatements } from '../../../../adapters/stores/postgres/inbox/statements.ts'
import { postgresProgram } from '../../../engines/postgres-server.ts'
import { Scene } from './scene.ts'

const EMPTY = { schema: 'public', table: 'empty' }
const LARGE = { schema: 'public', table: 'large' }
/** Rows in all states, of a hundred accounts, and more workers than an app has. */
const FILL = `
INSERT INTO large (key, state, position, account, id, type, received_at, since, due_at, lost_by)
SELECT 'key' || n, CASE WHEN n > 20000 THEN 0 WHEN n % 10 = 0 THEN 3 ELSE n % 5 END, CASE WHEN n % 5 = 2 AND n <= 20000 THEN n % 10000 ELSE n END,
  'account' || n % 100, 'id', 'type', 0, 0, 0, CASE WHEN n % 100 = 0 THEN n END
FROM generate_series(1, 100000) n;
INSERT INTO large_bodies SELECT seq, 'body' FROM large;
INSERT INTO large_workers (worker, renewed_at, ends_at) SELECT 'worker' || n, n, n FROM generate_series(1, 10000) n;
VACUUM ANALYZE large; VACUUM ANALYZE large_bodies; VACUUM ANALYZE large_workers`

/** Statements that read no catalog. */
const {
  create: _create,
  advance: _advance,
  missing: _missing,
  triggers: _triggers,
  pages,
  ...others
} = makeInboxStatements(EMPTY)
const NAMES = [...Object.keys(others), ...Object.keys(pages).map((line) => `page ${line}`)]

function find(name: string, table: typeof EMPTY): string {
  const { pages, ...others } = makeInboxStatements(table)
  const found = {
    ...others,
    ...Object.fromEntries(Object.entries(pages).map(([line, text]) => [`page ${line}`, text])),
  }
  return String(found[name as keyof typeof found])
}

describe.skipIf(postgresProgram === undefined)('the statements of postgresInbox', () => {
  const scene = new Scene()

  beforeAll(async () => {
    const pool = scene.pool()
    for (const table of [EMPTY, LARGE]) await postgresInbox({ pool, ...table }).migrate()
    for (const statement of FILL.split(';')) await pool.query(statement)
  })

  describe.each([
    ['no', EMPTY],
    ['a hundred thousand', LARGE],
  ])('that a connection prepares while the table has %s rows', (_, table) => {
    it.each(NAMES)('read no table from end to end: %s', async (name) => {
      const pool = scene.pool({ max: 1 })
      const text = find(name, table)
      const count = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)))
      await pool.query('SET plan_cache_mode = force_generic_plan')
      await pool.query(`PREPARE planned AS ${text}`)
      const given = count === 0 ? '' : `(${Array(count).fill('NULL').join(', ')})`
      const { rows } = await pool.query<Record<string, string>>(`EXPLAIN EXECUTE planned${given}`)
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      // The table of workers has a page or two, unless there are thousands of them.
      expect(plan).not.toMatch(table === EMPTY ? /Seq Scan on (?!\w+_workers)/ : 'Seq Scan')
      // Above this estimate a server compiles the statement whenever it runs it, which takes 40 ms.
      expect(Number(/cost=[\d.]+\.\.([\d.]+)/.exec(plan)?.[1])).toBeLessThan(50_000)
      // Beside a transaction that stays open, the index of places has all rows that a worker ever took.
      if (name.startsWith('settle')) expect(plan).not.toContain('_order')
      await pool.end()
    })
  })
})
