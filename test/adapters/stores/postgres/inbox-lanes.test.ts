import { setTimeout as sleep } from 'node:timers/promises'
import type { Inbox, InboxItem } from 'postern'
import { postgresInbox, postgresInboxSchema } from 'postern/postgres'
import { describe, expect, it, onTestFinished } from 'vitest'
import { postgresProgram } from '../../../engines/postgres-server.ts'
import { DONE, makeItem, newName, tried, until, work } from '../../inbox/engines.ts'
import { Scene } from './scene.ts'

const inLane = (id: string): InboxItem => ({ ...makeItem(id), lane: 'a' })

describe.skipIf(postgresProgram === undefined)('the lanes of postgresInbox', () => {
  const scene = new Scene()

  async function open(pool = scene.pool()) {
    const table = newName()
    const inbox = postgresInbox({ pool, table })
    await inbox.migrate()
    return { table, inbox, pool }
  }

  async function runAll(inbox: Inbox, count: number): Promise<readonly string[]> {
    const ran: string[] = []
    work(inbox, ({ key }) => {
      ran.push(key)
      return DONE
    })
    await until(() => ran.length === count)
    return ran
  }

  /** Deletes an item without the triggers, as a restore of the others does. */
  const dropSilently = (table: string, key: string) =>
    `BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM ${table} WHERE key = '${key}'; COMMIT`

  const removeLanes = (table: string) =>
    `DROP FUNCTION ${table}_lane() CASCADE; ALTER TABLE ${table} DROP COLUMN lane, DROP COLUMN away`

  it.each<
    [
      string,
      (inbox: ReturnType<typeof postgresInbox>, pool: ReturnType<Scene['pool']>, table: string) => Promise<unknown>,
    ]
  >([
    ['migrate()', (inbox) => inbox.migrate()],
    ['the printed SQL', (_inbox, pool, table) => pool.query(postgresInboxSchema({ table }))],
  ])('are added to a table of an earlier version by %s, beside a process that knows none', async (_, migrate) => {
    const { table, inbox, pool } = await open()
    await pool.query(removeLanes(table))
    const columns = 'key, state, position, account, id, type, received_at, since, due_at'
    const insert = (key: string) =>
      pool.query(`INSERT INTO ${table} (${columns}) VALUES ('${key}', 0, 0, 'a', 'id', 'type', 0, 0, 0)`)
    await insert('old')
    const refusal = await inbox.put(inLane('1'))?.catch((error: unknown) => error)
    expect(refusal).toMatchObject({
      code: 'inbox_unavailable',
      message: expect.stringContaining('Call await inbox.migrate()'),
    })
    await migrate(inbox, pool, table)
    for (const id of ['1', '2', '3']) await inbox.put(inLane(id))
    await insert('old2')
    expect(await inbox.counts()).toMatchObject({ waiting: 5, parked: 2 })
    await pool.query(`DELETE FROM ${table} WHERE key = 'k1'`)
    expect(await inbox.counts()).toMatchObject({ waiting: 4, parked: 1 })
    await pool.query(`UPDATE ${table} SET state = 4 WHERE key = 'k2'`)
    expect(await inbox.counts()).toMatchObject({ waiting: 3, parked: 0, dead: 1 })
    await pool.query(`UPDATE ${table} SET state = 1 WHERE key = 'k2'`) // an earlier version revives a dead letter
    expect(await inbox.counts()).toMatchObject({ waiting: 4, parked: 1, dead: 0 })
    await pool.query(`UPDATE ${table} SET state = 1, away = lane, lane = NULL WHERE key = 'k3'`)
    await pool.query(`UPDATE ${table} SET state = 0 WHERE key = 'k3'`) // and promotes an item that left its lane
    expect(await inbox.counts()).toMatchObject({ waiting: 4, parked: 1, dead: 0 })
  })

  it('are looked for by a second migration, which waits for no one, and renews an earlier trigger', async () => {
    const { table, inbox, pool } = await open()
    await pool.query(
      `CREATE OR REPLACE FUNCTION ${table}_lane() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`,
    )
    const dump = await pool.connect()
    onTestFinished(() => dump.release(true))
    await dump.query(`BEGIN; LOCK TABLE ${table} IN ROW EXCLUSIVE MODE`)
    await inbox.migrate()
    for (const id of ['1', '2']) await inbox.put(inLane(id))
    expect(await inbox.counts()).toMatchObject({ parked: 1 })
  })

  it('let deliveries through while a migration waits for a lock, and give up in time', async () => {
    const { table, inbox, pool } = await open()
    await pool.query(removeLanes(table))
    const dump = await pool.connect()
    onTestFinished(() => dump.release(true))
    await dump.query(`BEGIN; LOCK TABLE ${table} IN ACCESS SHARE MODE`)
    let isMigrating = true
    const migrating = inbox
      .migrate()
      .catch((error: unknown) => error)
      .finally(() => {
        isMigrating = false
      })
    let longestMs = 0
    while (isMigrating) {
      const begunAt = performance.now()
      await pool.query(`DELETE FROM ${table}`)
      longestMs = Math.max(longestMs, performance.now() - begunAt)
    }
    expect(await migrating).toMatchObject({ code: 'inbox_unavailable' })
    expect(longestMs).toBeLessThan(1_000)
  })

  it.each(['repeatable read', 'serializable'])('are kept if %s is the default of transactions', async (level) => {
    const strict = () => scene.pool({ options: `-c default_transaction_isolation=${level.replace(' ', '\\ ')}` })
    const { table, inbox } = await open(strict())
    const another = postgresInbox({ pool: strict(), table })
    const lanes = Array.from({ length: 20 }, (_, n) => `lane ${n}`)
    const running = new Set<string | undefined>()
    const [ran, overlaps]: string[][] = [[], []]
    const run = async ({ key, lane }: InboxItem) => {
      if (running.has(lane)) overlaps?.push(key)
      running.add(lane)
      await sleep(1)
      running.delete(lane)
      ran?.push(key)
      return DONE
    }
    for (const each of [inbox, another]) work(each, run)
    for (const id of ['1', '2', '3', '4', '5'])
      await Promise.all(
        lanes.flatMap((lane) => [inbox, another].map((to, n) => to.put({ ...makeItem(`${lane} ${id} ${n}`), lane }))),
      )
    await until(() => ran?.length === 200)
    expect([new Set(ran).size, overlaps]).toEqual([200, []])
  })

  it('refuse transactions at REPEATABLE READ on sessions of others, which could leave a lane stuck', async () => {
    const { table, inbox: usual, pool: usualPool } = await open()
    for (const id of ['8', '9']) await usual.put({ ...makeItem(id), lane: 'b' })
    await usualPool.query(dropSilently(table, 'k8'))
    const pool = scene.pool({ options: '-c default_transaction_isolation=repeatable\\ read' })
    const inbox = postgresInbox({ pool: { connect: () => pool.connect(), on: () => {} }, table })
    const all = [inLane('1'), makeItem('2'), makeItem('3')].map((item) => inbox.put(item))
    const [refused, ...others] = await Promise.allSettled(all)
    expect(refused).toMatchObject({
      reason: { message: expect.stringContaining(`The lanes of ${table} need transactions at READ COMMITTED`) },
    })
    expect(others.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
    expect((await runAll(inbox, 2)).toSorted()).toEqual(['k2', 'k3'])
  })

  it('whose next items are all locked let every other event be settled', async () => {
    const { table, inbox, pool } = await open()
    for (const id of ['1', '2', '3']) await inbox.put(inLane(id))
    const other = await pool.connect()
    onTestFinished(() => other.release(true))
    await other.query(`BEGIN; SELECT FROM ${table} WHERE key IN ('k2', 'k3') FOR UPDATE`)
    await Promise.all(['4', '5', '6', '7'].map((id) => inbox.put({ ...makeItem(id), lane: id })))
    const ran: string[] = []
    const run = ({ key }: InboxItem) => {
      ran.push(key)
      return DONE
    }
    work(inbox, run, { concurrency: 2 })
    await until(async () => (await inbox.counts()).waiting + (await inbox.counts()).running === 3)
    expect(ran).not.toContain('k2')
    await other.query('ROLLBACK')
    await until(() => ran.length === 7)
    expect(ran.slice(-2)).toEqual(['k2', 'k3'])
  })

  it('go on without the item that the others wait for, as after a restore', async () => {
    const { table, inbox, pool } = await open()
    for (const id of ['1', '2', '3']) await inbox.put(inLane(id))
    await inbox.put({ ...makeItem('4'), lane: 'b' })
    await pool.query(dropSilently(table, 'k1'))
    expect(await inbox.counts()).toMatchObject({ waiting: 3, parked: 2 })
    // A dead letter that is restored holds up nothing, and goes behind the others when it is replayed.
    await pool.query(
      `INSERT INTO ${table} (key, state, position, account, id, type, received_at, since, due_at, lane) VALUES ('kdead', 4, extract(epoch FROM now()) * 1000000, 'acme', 'evt', 'type', 0, 0, 0, 'a')`,
    )
    await pool.query(`INSERT INTO ${table}_bodies SELECT seq, '{}' FROM ${table} WHERE key = 'kdead'`)
    expect(await inbox.counts()).toMatchObject({ waiting: 3, parked: 2, dead: 1 })
    const ran = await runAll(inbox, 3)
    expect(ran.filter((key) => key !== 'k4')).toEqual(['k2', 'k3'])
    expect(await inbox.replay('kdead')).toBe(true)
    await until(() => ran.includes('kdead'))
  })

  it('go on with an item that ran when it was saved, and whose worker is not known any more', async () => {
    const { table, inbox, pool } = await open()
    for (const id of ['1', '2']) await inbox.put(inLane(id))
    await pool.query(`UPDATE ${table} SET state = 2, position = 999, taken_at = 0 WHERE key = 'k1'`)
    expect(await runAll(inbox, 2)).toEqual(['k1', 'k2'])
  })

  it.each([
    ['is deleted, by the one after that', '1', 'COMMIT', ['k3']],
    ['is locked, and there is no other, as soon as it is free', '1 3', 'ROLLBACK', ['k2']],
  ])('go on, while the next item %s', async (_, drops, end, ran) => {
    const { table, inbox, pool } = await open()
    for (const id of ['1', '2', '3']) await inbox.put(inLane(id))
    const other = await pool.connect()
    onTestFinished(() => other.release(true))
    await other.query(`BEGIN; DELETE FROM ${table} WHERE key = 'k2'`)
    const dropping = drops
      .split(' ')
      .toReversed()
      .map((id) => inbox.drop(`k${id}`))
    const waits = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`
    if (end === 'ROLLBACK') await until(async () => (await pool.query(waits)).rowCount === 1)
    else await Promise.all(dropping)
    await other.query(end)
    expect(await Promise.all(dropping)).toEqual(dropping.map(() => true))
    expect(await runAll(inbox, 1)).toEqual(ran)
  })

  it('that another transaction has locked keep no other event waiting', async () => {
    const { table, inbox, pool } = await open()
    for (const id of ['1', '2']) await inbox.put(inLane(id))
    const other = await pool.connect()
    onTestFinished(() => other.release(true))
    await other.query(`BEGIN; DELETE FROM ${table} WHERE key = 'k1'`)
    let isStored = false
    const late = inbox.put(inLane('3'))?.then(() => {
      isStored = true
    })
    await Promise.all(['4', '5', '6'].map((id) => inbox.put({ ...makeItem(id), lane: id })))
    expect(isStored).toBe(false)
    await other.query('COMMIT')
    await late
    expect(await runAll(inbox, 5)).toHaveLength(5)
  })

  it('of groups that are put and settled at the same time never deadlock', async () => {
    const { table, inbox, pool } = await open()
    const another = postgresInbox({ pool: scene.pool(), table })
    const before = await pool.query(`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`)
    const lanes = Array.from({ length: 200 }, (_, n) => `lane ${n}`)
    const putAll = (to: Inbox, round: number, order: readonly string[]) =>
      Promise.all(
        order.map((lane, n) =>
          to.put({ ...makeItem(`${lane} ${round} ${to === inbox ? 1 : 2}`), lane, accountKey: `${n}` }),
        ),
      )
    let ran = 0
    const run = (item: { readonly failures: number }) => {
      ran++
      return item.failures === 0
        ? ({ next: 'wait', afterMs: 0, isFailure: true, leavesLane: true, tried: tried(item as never) } as const)
        : DONE
    }
    for (const each of [inbox, another]) work(each, run, { concurrency: 200 })
    for (let round = 0; round < 5; round++)
      await Promise.all([putAll(inbox, round, lanes), putAll(another, round, lanes.toReversed())])
    await until(async () => (await inbox.counts()).waiting === 0 && ran === 4_000)
    const after = await pool.query(`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`)
    expect(after.rows).toEqual(before.rows)
  })
})
