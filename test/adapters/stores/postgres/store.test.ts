import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type ConfigurationError, createReceiver, type Outcome, type PosternError } from 'postern'
import { type PostgresStoreOptions, postgresInbox, postgresSchema, postgresStore } from 'postern/postgres'
import { events, signed, silentLogger } from 'postern/testing'
import { describe, expect, it, vi } from 'vitest'
import { postgresProgram } from '../../../engines/postgres-server.ts'
import { startWatch } from '../../../support/watch.ts'
import { LEASE_MS, newKey, Scene, take } from './scene.ts'

const ignore = () => {}

describe.skipIf(postgresProgram === undefined)('postgresStore', () => {
  const scene = new Scene()

  describe('its table', () => {
    it.each([`it's; DROP TABLE x --"`, 'a$postern$b', String.raw`$$ '\' $1 $postern$`])(
      'is made once by several processes at the same time, under any name: %s',
      async (table) => {
        const pool = scene.pool()
        const schema = `an "odd" one for ${table}`
        await pool.query(`CREATE SCHEMA "${schema.replaceAll('"', '""')}"`)
        await pool.query(postgresSchema({ schema, table: `${table}2` }))
        const options = { pool, schema, table }
        const stores = Array.from({ length: 5 }, () => postgresStore(options))
        await Promise.all(stores.map((store) => store.migrate()))
        await stores[0]?.migrate()
        for (const store of stores) {
          const key = newKey()
          await store.complete(key, (await take(store, key)).token)
          expect(await store.claim(key, LEASE_MS)).toEqual({ state: 'done' })
        }
      },
    )

    it('is reported with the fix if it is missing', async () => {
      const store = postgresStore({ pool: scene.pool(), table: 'nowhere' })
      for (const call of [() => store.claim(newKey(), LEASE_MS), () => store.complete(newKey(), 'x')])
        await expect(call()).rejects.toMatchObject({
          code: 'store_unavailable',
          message: expect.stringContaining('await store.migrate()'),
        })
    })

    it('is missed in the log once the app has started, before a delivery is', async () => {
      const pool = scene.pool()
      const lines: string[] = []
      const logger = { ...silentLogger, error: (_fields: object, message: string) => void lines.push(message) }
      vi.useFakeTimers({ toFake: ['setTimeout'] })
      const missing = {
        store: postgresStore({ pool, table: 'nowhere' }),
        inbox: postgresInbox({ pool, table: 'gone' }),
      }
      const { store } = await scene.store()
      for (const each of [store, ...Object.values(missing)]) each.reportTo?.(logger)
      vi.advanceTimersByTime(5_000)
      vi.useRealTimers()
      await expect.poll(() => lines.length).toBe(2)
      expect(lines.sort().join()).toMatch(
        /table gone .*await inbox\.migrate\(\).*table nowhere .*await store\.migrate\(\)/,
      )
    })

    it('is refused if it is of a later version', async () => {
      const pool = scene.pool()
      await pool.query(postgresSchema({ table: 'later' }))
      await pool.query(`COMMENT ON TABLE later IS 'postern 2'`)
      await expect(postgresStore({ pool, table: 'later' }).migrate()).rejects.toThrow(
        /version "postern 2".*supports "postern 1"/,
      )
    })
  })

  it.each<[string, unknown]>([
    ['pool', undefined],
    ['pool', { pool: { query() {} } }],
    ['a Pool of pg', { pool: new pg.Client() }],
    ['retentionMs', { retentionMs: 0 }],
    ['table', { table: '' }],
    ['table', { table: 'a\0b' }],
    ['table', { table: 'x'.repeat(64) }],
    ['schema', { schema: '\ud800' }],
    ['wrap', { wrap: 'drizzle' }],
    ['tabel', { tabel: 'x' }],
  ])('refuses options that cannot work: %s %o', (option, given) => {
    const pool = { connect: ignore, on: ignore }
    const options = typeof given === 'object' ? { pool, ...given } : given
    expect(() => postgresStore(options as PostgresStoreOptions<pg.Pool, unknown>)).toThrow(
      expect.objectContaining<Partial<ConfigurationError>>({
        code: option === 'tabel' ? 'option_unknown' : 'option_invalid',
        message: expect.stringContaining(option),
      }),
    )
  })

  it('accepts keys and marks that Postgres text cannot hold', async () => {
    const { store } = await scene.store()
    const odd = ['a\0b', '\ud800', '\udfff', '\ufffd', '#', '%', '%YQBi', '', '"', '\\', 'é', 'x'.repeat(5_000)]
    const keys = odd.map((text) => `${newKey()}${text}`)
    const claims = await Promise.all(keys.map((key) => take(store, key)))
    for (const [index, key] of keys.entries()) {
      expect(await store.claim(key, LEASE_MS)).toEqual({ state: 'busy' })
      await store.release(key, claims[index]?.token ?? '', odd)
      expect([...(await take(store, key)).marks].sort()).toEqual([...odd].sort())
    }
  })

  it('forgets rows that are older than the retention in batches, and leaves the rest', async () => {
    const { store, pool } = await scene.store()
    const insert = (prefix: string, interval: string, count: number) =>
      pool.query(
        `INSERT INTO postern_claims (key, token, done, kept_until, swept_after)
         SELECT '${prefix}' || i, 'x', true, now() + interval '${interval}', now() + interval '${interval}' FROM generate_series(1, ${count}) i`,
      )
    await insert('old', '-1 hour', 2_500)
    await insert('new', '1 hour', 10)
    const { store: forgetful } = await scene.store({}, 50)
    await forgetful.complete('old event', 'token', [{ key: 'old position', at: 1 }])
    const key = newKey()
    await store.complete(key, (await take(store, key)).token)
    const countOf = async (prefix: string) =>
      (await pool.query(`SELECT count(*)::int AS n FROM postern_claims WHERE key LIKE '${prefix}%'`)).rows[0].n
    await expect.poll(() => countOf('old')).toBe(0)
    expect(await countOf('new')).toBe(10)
    expect(await store.claim(key, LEASE_MS)).toEqual({ state: 'done' })
  })

  it('does not delay the end of its pool', async () => {
    const { store, pool } = await scene.store()
    await store.complete(newKey(), (await take(store, newKey())).token)
    const watch = startWatch()
    await pool.end()
    expect(watch()).toBeLessThan(8_000) // it would be kept for ten idle seconds
  })

  it('answers 503 while the server is stopped or frozen under load, and loses nothing', async () => {
    const { store, pool } = await scene.store()
    await pool.query('CREATE TABLE effects (event text)')
    const errors: PosternError[] = []
    const receiver = createReceiver({
      secret: 'secret',
      store,
      leaseMs: 2_000,
      logger: silentLogger,
      onError: (error) => errors.push(error),
    })
    receiver.on('contact.created', ({ id }, { transaction }) =>
      transaction((tx) => tx.query('INSERT INTO effects VALUES ($1)', [id])),
    )
    const statuses = new Map<number, number>()
    const handled: string[] = []
    let isOver = false
    const sendAll = async () => {
      while (!isOver) {
        const event = events.contact.created()
        const { body, signature } = signed(event, { secret: 'secret' })
        let outcome: Outcome
        do {
          outcome = await receiver.receive({ body, signature })
          statuses.set(outcome.status, (statuses.get(outcome.status) ?? 0) + 1)
          if (outcome.status !== 200) await sleep(50)
        } while (outcome.status !== 200)
        handled.push(event.id)
      }
    }
    const load = Promise.all(Array.from({ length: 20 }, sendAll))
    await sleep(300)
    await scene.server.kill('SIGINT')
    await sleep(300)
    await scene.server.start()
    await sleep(300)
    scene.server.freeze()
    await sleep(4_000)
    scene.server.thaw()
    await sleep(300)
    await scene.server.kill('SIGKILL')
    await scene.server.start()
    await sleep(300)
    isOver = true
    await load
    expect(statuses.get(503)).toBeGreaterThan(0)
    const { rows } = await pool.query('SELECT event FROM effects ORDER BY event COLLATE "C"')
    expect(rows.map(({ event }) => event)).toEqual(handled.sort())
    await receiver.close()
  })
})
