import pg from 'pg'
import { postgresStore } from 'postern/postgres'
import { describe, expect, it } from 'vitest'
import { makeStatements } from '../../../../adapters/stores/postgres/statements.ts'
import { postgresProgram } from '../../../engines/postgres-server.ts'
import { LEASE_MS, newKey, Scene, take } from './scene.ts'

describe.skipIf(postgresProgram === undefined)('the statements of postgresStore', () => {
  const scene = new Scene()

  it.each([
    ['claim', `('{a}', '{b}', '{1}', '{c}')`],
    ['settle', `('[]', '{a}', '{b}', '{1}')`],
  ] as const)(
    'look rows up by their key no matter what size the table had when they were prepared: %s',
    async (which, given) => {
      const pool = scene.pool({ max: 1 })
      const name = { schema: 'public', table: `planned_${which}` }
      await postgresStore({ pool: scene.pool(), ...name }).migrate()
      await pool.query('SET plan_cache_mode = force_generic_plan')
      await pool.query(`PREPARE planned AS ${makeStatements(name, 1_000)[which]}`)
      const explain = async () => {
        const { rows } = await pool.query<Record<string, string>>(`EXPLAIN EXECUTE planned${given}`)
        return rows.map((row) => row['QUERY PLAN']).join('\n')
      }
      const plan = await explain()
      expect(plan).toContain(`Index Scan using planned_${which}_pkey`)
      expect(plan).not.toContain('Seq Scan')
      // Above this estimate a server compiles the statement whenever it runs it, which takes 40 ms.
      expect(Number(/cost=[\d.]+\.\.([\d.]+)/.exec(plan)?.[1])).toBeLessThan(50_000)
    },
  )

  it('are prepared once by each connection', async () => {
    const { store, pool } = await scene.store({ max: 3 })
    const query = `SELECT generic_plans + custom_plans AS calls FROM pg_prepared_statements WHERE name LIKE 'postern%'`
    const countCalls = async () => {
      const clients = await Promise.all([pool.connect(), pool.connect()])
      const found = await Promise.all(clients.map((client) => client.query<{ calls: string }>(query)))
      for (const client of clients) client.release()
      return found.flatMap(({ rows }) => rows).reduce((sum, { calls }) => sum + Number(calls), 0)
    }
    // If no other connection is free in time, as on a slow machine, claims share the kept one, which is not among these.
    do await store.complete(newKey(), (await take(store, newKey())).token)
    while ((await countCalls()) < 15)
  })

  it.each([
    ['are gone from the connections', 'DEALLOCATE ALL'],
    ['no longer fit the table', 'ALTER TABLE postern_claims ALTER COLUMN marks TYPE varchar[]'],
  ])('continue if those that were prepared %s', async (_what, change) => {
    const { store, pool } = await scene.store({ max: 3 })
    await take(store, newKey())
    const held = await Promise.all([pool.connect(), pool.connect()])
    for (const client of held) await client.query(change)
    for (const client of held) client.release()
    const key = newKey()
    const { token } = await take(store, key)
    expect(await store.complete(key, token)).toBe(true)
    expect(await store.claim(key, LEASE_MS)).toEqual({ state: 'done' })
  })

  it('are few for a burst of positions of one record', async () => {
    let statements = 0
    class Counting extends pg.Client {
      override query(...given: unknown[]): never {
        statements++
        return Reflect.apply(super.query, this, given) as never // one of many forms
      }
    }
    const { store } = await scene.store({ Client: Counting } as pg.PoolConfig)
    const key = newKey()
    const positionsOf = (index: number) => [{ key, at: (index * 7) % 300 }]
    await Promise.all(Array.from({ length: 300 }, (_, index) => store.complete(newKey(), 'token', positionsOf(index))))
    const claims = await Promise.all(Array.from({ length: 300 }, () => store.claim(newKey(), LEASE_MS, [key])))
    for (const claim of claims) expect(claim).toMatchObject({ positions: [299] })
    expect(statements).toBeLessThan(20)
  })
})
