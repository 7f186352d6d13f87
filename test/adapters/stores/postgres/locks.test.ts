import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { postgresInbox, postgresStore } from 'postern/postgres'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../../src/engine.ts'
import { pgBouncerProgram, startPgBouncer } from '../../../engines/pgbouncer.ts'
import { postgresProgram } from '../../../engines/postgres-server.ts'
import { untilClaimed } from '../../../store/until-claimed.ts'
import { DONE, makeItem } from '../../inbox/engines.ts'
import { claimFor, LEASE_MS, newKey, Scene, sendingBy, take } from './scene.ts'

const WORK = { concurrency: 5, leaseMs: 15_000, clock: systemClock, onSettled: () => {} }

const renew = async (store: Awaited<ReturnType<Scene['store']>>['store'], claim: { key: string; token: string }) =>
  store.renew(claim.key, claim.token, LEASE_MS, [])

describe.skipIf(postgresProgram === undefined)('postgresStore, while other sessions hold locks', () => {
  const scene = new Scene()

  /** Runs a function while a transaction of the app has run these statements. */
  async function whileApp<T>(sql: string, values: unknown[], what: (end: () => Promise<unknown>) => Promise<T>) {
    const client = await scene.pool().connect()
    const end = () => client.query('ROLLBACK')
    try {
      await client.query('BEGIN')
      await client.query(sql, values)
      return await what(end)
    } finally {
      await end()
      client.release()
    }
  }

  /** Runs a function while a transaction of the app has locked the row of a key. */
  const whileLocked = <T>(key: string, what: () => Promise<T>) =>
    whileApp('SELECT 1 FROM postern_claims WHERE key = $1 FOR UPDATE', [key], what)

  async function untilWaiting(pool: pg.Pool, sessions: number): Promise<void> {
    const query = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock'`
    await expect.poll(async () => (await pool.query(query)).rows[0].n).toBeGreaterThanOrEqual(sessions)
  }

  it('renews every event while the deferred checks of five transactions wait', async () => {
    const { store, pool } = await scene.store()
    await pool.query(`CREATE TABLE parents (id int PRIMARY KEY); INSERT INTO parents VALUES (1);
      CREATE TABLE children (id text PRIMARY KEY, parent int REFERENCES parents DEFERRABLE INITIALLY DEFERRED)`)
    const other = await claimFor(store)
    const claims = await Promise.all([1, 2, 3, 4, 5].map(() => claimFor(store)))
    await whileApp('SELECT 1 FROM parents WHERE id = 1 FOR UPDATE', [], async (end) => {
      const running = claims.map((claim) =>
        store.transaction(claim, (tx) => tx.query('INSERT INTO children VALUES ($1, 1)', [claim.key])),
      )
      await untilWaiting(scene.pool(), 5)
      const renewals = await Promise.allSettled([other, ...claims].map((claim) => renew(store, claim)))
      expect(renewals).toEqual(Array.from({ length: 6 }, () => ({ status: 'fulfilled', value: true })))
      await end()
      await Promise.all(running)
    })
    for (const { key, token } of claims) {
      await store.release(key, token, [])
      expect((await take(store, key)).marks).toEqual(['save'])
    }
  })

  it('rolls a transaction back whose deferred check fails, and uses its connection again', async () => {
    const { store, pool } = await scene.store()
    await pool.query(
      `CREATE TABLE numbered (n int UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO numbered VALUES (1)`,
    )
    const claim = await claimFor(store)
    let closed = 0
    pool.on('remove', () => closed++)
    const run = store.transaction(claim, (tx) => tx.query('INSERT INTO numbered VALUES (1)'))
    await expect(run).rejects.toMatchObject({ code: '23505' })
    expect(closed).toBe(0)
  })

  it('renews, completes and claims other events while the row of one is locked', async () => {
    const { store } = await scene.store()
    const [locked, free, done] = await Promise.all([1, 2, 3].map(() => claimFor(store)))
    if (!locked || !free || !done) throw new Error('there are three')
    const late = await whileLocked(locked.key, async () => {
      const late = renew(store, locked)
      for (let turn = 0; turn < 3; turn++) {
        expect(await renew(store, free)).toBe(true)
        await take(store, newKey())
      }
      expect(await store.complete(done.key, done.token)).toBe(true)
      return { renewal: late }
    })
    expect(await late.renewal).toBe(true)
  })

  it('runs the calls for a locked event in their order, once the lock is gone', async () => {
    const { store } = await scene.store()
    const locked = await claimFor(store)
    const [renewal, release] = await whileLocked(locked.key, async () => {
      const first = renew(store, locked)
      await sleep(50)
      return [first, store.release(locked.key, locked.token, ['a'])]
    })
    expect(await Promise.all([renewal, release])).toEqual([true, true])
    expect((await take(store, locked.key)).marks).toEqual(['a'])
  })

  it.each<[string, string]>([
    ['set a mark', `UPDATE postern_claims SET marks = array_append(marks, 'a') WHERE key = $1`],
    ['removed it', 'DELETE FROM postern_claims WHERE key = $1'],
  ])(
    'answers claims of an event, and of others with it, while a transaction that %s is not committed',
    async (_what, change) => {
      const { store } = await scene.store()
      const changed = await claimFor(store)
      await whileApp(change, [changed.key], async () => {
        const claims = await Promise.all([changed.key, newKey(), newKey()].map((key) => store.claim(key, LEASE_MS)))
        expect(claims.map(({ state }) => state)).toEqual(['busy', 'claimed', 'claimed'])
      })
    },
  )

  it('delays a completion whose position is locked, and no other', async () => {
    const { store } = await scene.store()
    const [ordered, plain] = [await claimFor(store), await claimFor(store)]
    const position = { key: `${ordered.key}@`, at: 1 }
    await store.complete(newKey(), 'token', [position])
    const completing = await whileLocked(position.key, async () => {
      const first = store.complete(ordered.key, ordered.token, [{ ...position, at: 2 }])
      expect(await store.complete(plain.key, plain.token)).toBe(true)
      expect(await store.claim(ordered.key, LEASE_MS)).toEqual({ state: 'busy' })
      return [first]
    })
    expect(await Promise.all(completing)).toEqual([true])
    expect(await store.claim(newKey(), LEASE_MS, [position.key])).toMatchObject({ positions: [2] })
  })

  it('refuses a settlement whose row stays locked', async () => {
    const { store } = await scene.store()
    const locked = await claimFor(store)
    await whileLocked(locked.key, async () => {
      await expect(renew(store, locked)).rejects.toThrow()
    })
    expect(await renew(store, locked)).toBe(true)
  })

  it('claims nothing by a statement that the server processes too late, no matter how long its answer was waited for', async () => {
    const shorter = (text: string) => text.replace("interval '3000 ms'", "interval '300 ms'")
    const { store, pool } = await scene.store(
      sendingBy((send, query, ...rest) => {
        const { text } = Object(query)
        return send(typeof text === 'string' ? { ...Object(query), text: shorter(text) } : query, ...rest)
      }),
    )
    const key = newKey()
    await untilClaimed(store, newKey)
    await whileApp('LOCK TABLE postern_claims', [], async (end) => {
      const claim = Promise.resolve(store.claim(key, LEASE_MS))
      claim.catch(() => {})
      await untilWaiting(scene.pool(), 1)
      await sleep(400)
      await end()
      await expect(claim).rejects.toThrow()
    })
    const { rowCount } = await pool.query('SELECT 1 FROM postern_claims WHERE key = $1', [key])
    expect(rowCount).toBe(0)
  })

  it.each([
    ['directly', undefined],
    ...(pgBouncerProgram === undefined ? [] : ([['behind PgBouncer', startPgBouncer]] as const)),
  ] as const)(
    'uses two connections beside those of its pool, also while tables are locked for longer than it waits, and closes them with it: %s',
    async (_how, startPooler) => {
      const { pool: admin } = await scene.store()
      await postgresInbox({ pool: admin }).migrate()
      const pooler = await startPooler?.(scene.server.port)
      const pools = [1, 2, 3].map(() =>
        scene.pool({ ...(pooler && { connectionString: pooler.url }), max: 5, application_name: 'locked_out' }),
      )
      onTestFinished(async () => void (await pooler?.remove()))
      const count = async () => {
        const text = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'locked_out'`
        return (await admin.query(text)).rows[0].n
      }
      const apps = pools.map((pool) => ({ store: postgresStore({ pool }), inbox: postgresInbox({ pool }) }))
      for (const { store, inbox } of apps) {
        await take(store, newKey())
        await inbox.counts()
      }
      const tables = ['postern_claims', 'postern_inbox', 'postern_inbox_bodies', 'postern_inbox_workers'].join(', ')
      let isLocked = true
      const use = async ({ store, inbox }: (typeof apps)[number]) => {
        const loop = inbox.work(async () => DONE, { ...WORK, onError: () => {} })
        while (isLocked) {
          const calls = [store.claim(newKey(), LEASE_MS), inbox.put(makeItem(newKey())), inbox.counts()]
          await Promise.race([Promise.allSettled(calls), sleep(200)])
        }
        await loop.close(0)
      }
      const using = await whileApp(`LOCK TABLE ${tables}`, [], async () => {
        const using = Promise.all(apps.map(use))
        let most = 0
        for (let n = 0; n < 90; n++) {
          await sleep(100)
          most = Math.max(most, await count())
        }
        isLocked = false
        expect(most).toBeLessThanOrEqual(pooler === undefined ? 3 * (5 + 2) : 4 + 1)
        return { using }
      })
      await using.using
      for (const { store, inbox } of apps) {
        await take(store, newKey())
        await inbox.put(makeItem(newKey()))
      }
      await Promise.all(pools.map((pool) => pool.end()))
      for (const { store } of apps) await expect((async () => store.claim(newKey(), LEASE_MS))()).rejects.toThrow()
      if (pooler === undefined) await expect.poll(count).toBe(0) // a server process outlives its connection for a moment
    },
  )

  describe('migrate', () => {
    it('is not delayed by a process that falls silent in it', async () => {
      const silent = await scene.faulty()
      silent.proxy.muteAt = 'obj_description'
      const never = postgresStore({ pool: silent.pool, table: 'silent' }).migrate()
      never.catch(() => {})
      await sleep(500)
      await postgresStore({ pool: scene.pool(), table: 'heard' }).migrate()
    })

    it('names the session that it waited for, and the command that ends it', async () => {
      const { pool } = await scene.store()
      const text = 'SELECT pg_advisory_xact_lock(7066398211), pg_backend_pid()'
      await whileApp(text, [], async () => {
        await expect(postgresStore({ pool, table: 'waited_for' }).migrate()).rejects.toMatchObject({
          code: 'store_unavailable',
          message: expect.stringMatching(/pg_terminate_backend\(pid\)/),
        })
      })
    })
  })
})
