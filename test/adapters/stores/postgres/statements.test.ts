import pg from 'pg'
import { postgresStore } from 'postern/postgres'
import { describe, expect, it } from 'vitest'
import { makeStatements } from '../../../../adapters/stores/postgres/statements.ts'
import { postgresProgram } from '../../../engines/postgres-server.ts'
import { LEASE_MS, newKey, Scene, sendingBy, take } from './scene.ts'

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

  /** Makes a store, and the list of all connections, to which its own belong. */
  async function openWatched() {
    const clients: pg.Client[] = []
    class Watched extends pg.Client {
      constructor(config: pg.ClientConfig) {
        super(config)
        clients.push(this)
      }
    }
    const options = { Client: Watched as never } // its type has a constructor without parameters
    return { clients, ...(await scene.store(options)) }
  }

  it('are prepared once by each connection', async () => {
    const { store, clients } = await openWatched()
    const query = `SELECT generic_plans + custom_plans AS calls FROM pg_prepared_statements WHERE name LIKE 'postern%'`
    for (let round = 0; round < 15; round++) await store.complete(newKey(), (await take(store, newKey())).token)
    const found = await Promise.all(clients.map((client) => client.query<{ calls: string }>(query)))
    const calls = found.flatMap(({ rows }) => rows).map(({ calls }) => Number(calls))
    expect(calls.reduce((sum, each) => sum + each, 0)).toBe(30)
  })

  it.each([
    ['are gone from the connections', 'DEALLOCATE ALL'],
    ['no longer fit the table', 'ALTER TABLE postern_claims ALTER COLUMN marks TYPE varchar[]'],
  ])('continue if those that were prepared %s', async (_what, change) => {
    const { store, clients } = await openWatched()
    await take(store, newKey())
    for (const client of clients) await client.query(change)
    const key = newKey()
    const { token } = await take(store, key)
    expect(await store.complete(key, token)).toBe(true)
    expect(await store.claim(key, LEASE_MS)).toEqual({ state: 'done' })
  })

  it('are few for a burst of positions of one record', async () => {
    let statements = 0
    const { store } = await scene.store(
      sendingBy((send, ...given) => {
        statements++
        return send(...given)
      }),
    )
    const key = newKey()
    const positionsOf = (index: number) => [{ key, at: (index * 7) % 300 }]
    await Promise.all(Array.from({ length: 300 }, (_, index) => store.complete(newKey(), 'token', positionsOf(index))))
    const claims = await Promise.all(Array.from({ length: 300 }, () => store.claim(newKey(), LEASE_MS, [key])))
    for (const claim of claims) expect(claim).toMatchObject({ positions: [299] })
    expect(statements).toBeLessThan(20)
  })
})
