import { createHash } from 'node:crypto'
import { postgresInbox, postgresInboxSchema } from 'postern/postgres'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Starts } from '../../../../adapters/stores/postgres/inbox/starts.ts'
import { type InboxStatements, makeInboxStatements } from '../../../../adapters/stores/postgres/inbox/statements.ts'
import type { Settlement, TakenItem } from '../../../../src/engine.ts'
import { FaultyProxy } from '../../../engines/faulty-proxy.ts'
import { postgresProgram } from '../../../engines/postgres-server.ts'
import { DONE, makeItem, newName, tried, until, work } from '../../inbox/engines.ts'
import { Scene } from './scene.ts'

/** Returns the name by which connections prepare a statement. */
function nameOf(table: string, pick: (statements: InboxStatements) => string): string {
  const text = pick(makeInboxStatements({ schema: 'public', table }))
  return `postern_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
}

/** An item whose body is like no other. */
const itemOf = (id: string) => ({ ...makeItem(id), bytes: Buffer.from(`{"id":"${id}"}`) })

describe.skipIf(postgresProgram === undefined)('postgresInbox', () => {
  const scene = new Scene()

  async function open(pool = scene.pool()) {
    const table = newName()
    const inbox = postgresInbox({ pool, table })
    await inbox.migrate()
    return { table, inbox, pool }
  }

  /** Opens an inbox whose workers reach the server through a proxy. */
  async function openFaulty() {
    const { table, inbox } = await open()
    const proxy = new FaultyProxy(scene.server.port)
    const url = scene.server.url.replace(/:\d+\//, `:${await proxy.listen()}/`)
    const pool = scene.pool({ connectionString: url })
    onTestFinished(() => proxy.close())
    return { table, inbox, proxy, faulty: postgresInbox({ pool, table }) }
  }

  it('says how to create its tables, and needs no rights but those that it names', async () => {
    const admin = scene.pool()
    await admin.query('CREATE USER poor; CREATE SCHEMA closed; GRANT USAGE ON SCHEMA closed TO poor')
    const pool = scene.pool({ connectionString: scene.server.url.replace('postgres@', 'poor@') })
    const inbox = postgresInbox({ pool, schema: 'closed' })
    const refused = { code: 'inbox_unavailable' }
    await expect(inbox.put(makeItem('1'))).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining('npx postern inbox migrate --postgres URL'),
    })
    await expect(inbox.migrate()).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining("postgresInboxSchema({ schema: 'closed' })"),
    })
    await admin.query(postgresInboxSchema({ schema: 'closed' }))
    const lack = await inbox.put(makeItem('1'))?.catch((error: Error) => error.message)
    const [grant = ''] = /GRANT .* TO/.exec(String(lack)) ?? []
    await admin.query(`${grant} poor`)
    await inbox.put(makeItem('1'))
    const ran: string[] = []
    work(inbox, (item) => {
      ran.push(item.key)
      return ran.length === 1 ? { next: 'wait', afterMs: 0, isFailure: true, tried: tried(item) } : DONE
    })
    await until(async () => ran.length === 2 && (await inbox.get('k1')) === undefined)
    expect(await inbox.migrate()).toBeUndefined()
  })

  it.each<[string, (pool: ReturnType<Scene['pool']>, table: string) => Promise<unknown>]>([
    [
      'whose sequence stands back, as after a copy',
      (pool, table) => pool.query(`ALTER TABLE ${table} ALTER seq RESTART`),
    ],
    ['that was emptied beside its bodies', (pool, table) => pool.query(`TRUNCATE ${table} RESTART IDENTITY`)],
    ['that was dropped beside its bodies', (pool, table) => pool.query(`DROP TABLE ${table}`)],
    [
      'whose bodies come from elsewhere, with a sequence that stands back',
      (pool, table) => pool.query(`DELETE FROM ${table}; ALTER TABLE ${table} ALTER seq RESTART`),
    ],
  ])('accepts an event only with its own body, into a table %s', async (_what, damage) => {
    const { table, inbox, pool } = await open()
    for (const id of ['1', '2', '3']) await inbox.put(itemOf(id))
    const before = await pool.query(`SELECT seq, bytes FROM ${table}_bodies ORDER BY seq`)
    await damage(pool, table)
    await inbox.migrate()
    await Promise.all(['4', '5', '6', '7'].map((id) => inbox.put(itemOf(id))))
    for (const id of ['4', '5', '6', '7']) expect((await inbox.get(`k${id}`))?.bytes).toEqual(itemOf(id).bytes)
    const after = await pool.query(`SELECT seq, bytes FROM ${table}_bodies ORDER BY seq LIMIT 3`)
    expect(after.rows).toEqual(before.rows)
  })

  it('repairs a sequence that stands back without migrate(), and refuses events that it cannot store', async () => {
    const { table, inbox, pool } = await open()
    for (const id of ['1', '2', '3']) await inbox.put(itemOf(id))
    await pool.query(`ALTER TABLE ${table} ALTER seq RESTART`)
    await inbox.put(itemOf('4'))
    expect((await inbox.get('k4'))?.bytes).toEqual(itemOf('4').bytes)
    await pool.query(
      `CREATE USER ${table}_user; GRANT SELECT, INSERT, UPDATE, DELETE ON ${table}, ${table}_bodies TO ${table}_user`,
    )
    await pool.query(
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table}_workers TO ${table}_user; ALTER TABLE ${table} ALTER seq RESTART`,
    )
    const url = scene.server.url.replace('postgres@', `${table}_user@`)
    const poor = postgresInbox({ pool: scene.pool({ connectionString: url }), table })
    const refusal = await poor.put(itemOf('5'))?.catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'inbox_unavailable', message: expect.stringContaining('migrate()') })
    expect(await inbox.get('k5')).toBeUndefined()
    await inbox.migrate()
    await poor.put(itemOf('5'))
    expect((await inbox.get('k5'))?.bytes).toEqual(itemOf('5').bytes)
  })

  it('prints SQL that can be run again beside a dump, which holds the tables open for hours', async () => {
    const { table, inbox, pool } = await open()
    const dump = await pool.connect()
    try {
      await dump.query(`BEGIN; LOCK TABLE ${table}, ${table}_bodies, ${table}_workers IN ACCESS SHARE MODE`)
      await pool.query(`SET lock_timeout = '2s'; ${postgresInboxSchema({ table })}`)
    } finally {
      dump.release(true)
    }
    await inbox.put(makeItem('1'))
  })

  it('runs what a dead process held, however many workers ended before it', async () => {
    const { table, inbox, pool } = await open()
    for (const id of ['1', '2']) await inbox.put(makeItem(id))
    await pool.query(`
      INSERT INTO ${table}_workers (worker, renewed_at, ends_at)
      SELECT 'ended ' || n, 0, extract(epoch FROM now() - interval '30 min') * 1000000 FROM generate_series(1, 1100) n;
      INSERT INTO ${table}_workers (number, worker, renewed_at, ends_at) SELECT 5000, 'dead', 0, extract(epoch FROM now()) * 1000000 - 1;
      UPDATE ${table} SET state = 2, position = 5000, taken_at = 0 WHERE key = 'k1'`)
    const ran: string[] = []
    work(inbox, ({ key }) => {
      ran.push(key)
      return DONE
    })
    await until(async () => ran.length === 2)
  })

  it('keeps no row of a worker that was closed with nothing in hand', async () => {
    const { table, inbox, pool } = await open()
    await inbox.put(makeItem('1'))
    const loop = work(inbox, () => DONE)
    await until(async () => (await inbox.get('k1')) === undefined)
    expect((await pool.query(`SELECT FROM ${table}_workers`)).rowCount).toBe(1)
    await loop.close(1_000)
    expect((await pool.query(`SELECT FROM ${table}_workers`)).rowCount).toBe(0)
  })

  it('runs and lists items beside one whose columns were damaged', async () => {
    const { inbox, pool, table } = await open()
    for (const id of ['1', '2', '3']) await inbox.put(makeItem(id))
    await pool.query(`UPDATE ${table} SET tries = '[', more = '{' WHERE key = 'k2'`)
    expect((await inbox.list('waiting')).entries.map(({ key }) => key)).toEqual(['k1', 'k2', 'k3'])
    const ran: string[] = []
    work(inbox, ({ key }) => {
      ran.push(key)
      return DONE
    })
    await until(async () => ran.length === 3)
  })

  it('reads the exact bodies whatever parsers of types the app has given to pg', async () => {
    const { inbox } = await open(scene.pool({ types: { getTypeParser: () => (text: string | Buffer) => text } }))
    const item = { ...makeItem('1'), bytes: Buffer.from([0x7b, 0, 0xff, 0x5c, 0x7d]) }
    await inbox.put(item)
    expect((await inbox.get('k1'))?.bytes).toEqual(item.bytes)
    const ran: TakenItem[] = []
    work(inbox, (taken) => {
      ran.push(taken)
      return DONE
    })
    await until(async () => ran.length === 1)
    expect(ran[0]?.bytes).toEqual(item.bytes)
  })

  it('refuses the table of a store', async () => {
    const { pool } = await scene.store()
    await expect(postgresInbox({ pool, table: 'postern_claims' }).migrate()).rejects.toThrow(/"postern 1".*inbox 1/)
  })

  it.each([
    ['take', ({ take }) => take],
    ['settlement', ({ settle }) => settle],
  ] as const satisfies readonly (readonly [string, (statements: InboxStatements) => string])[])(
    'runs an item once if the answer to its %s is lost with the connection',
    async (_, pick) => {
      const { table, inbox, faulty, proxy } = await openFaulty()
      await inbox.put(makeItem('1'))
      proxy.cutAt = { text: nameOf(table, pick), isForwarded: true }
      const seen: TakenItem[] = []
      const settled: Settlement['next'][] = []
      work(
        faulty,
        (item) => {
          seen.push(item)
          return seen.length > 1 ? DONE : { next: 'bury', marks: ['one'], tried: tried(item) }
        },
        { leaseMs: 10_000, onSettled: (_item, { next }) => settled.push(next) },
      )
      await until(() => settled.length === 1)
      expect(settled).toEqual(['bury'])
      expect(seen).toMatchObject([{ deaths: 0, failures: 0 }])
      expect(await inbox.get('k1')).toMatchObject({ state: 'dead', marks: ['one'], tries: [{ n: 1 }] })
    },
  )

  it('works off large bodies, and small events of others meanwhile, over a network that is slow for them', async () => {
    const { inbox, faulty, proxy } = await openFaulty()
    const bytes = Buffer.alloc(1_024_000, 'x')
    for (let n = 0; n < 40; n++) await inbox.put({ ...makeItem(`large ${n}`, 'large'), bytes })
    proxy.longestAnswer = 7_000_000 // less than 4 MiB in hexadecimal
    const ran: string[] = []
    const run = ({ accountKey }: TakenItem) => {
      ran.push(accountKey)
      return DONE
    }
    work(faulty, run, { concurrency: 100, leaseMs: 3_000 })
    await inbox.put(makeItem('small', 'small'))
    await until(() => ran.length === 41)
    expect(ran.indexOf('small')).toBeLessThan(20)
  })

  it('settles an item while the row of another one is locked, and that one as soon as it is not', async () => {
    const { inbox, table } = await open()
    const holder = await scene.pool().connect()
    onTestFinished(() => holder.release(true))
    const settled: string[] = []
    let [running, isLocked] = [0, false]
    const run = async () => {
      running++
      await until(() => isLocked)
      return DONE
    }
    work(inbox, run, { onSettled: ({ key }) => settled.push(key) })
    for (const id of ['1', '2']) await inbox.put(makeItem(id))
    await until(() => running === 2)
    await holder.query(`BEGIN; SELECT FROM ${table} WHERE key = 'k1' FOR UPDATE`)
    isLocked = true
    await until(() => settled.length === 1)
    expect(settled).toEqual(['k2'])
    await holder.query('COMMIT')
    await until(() => settled.length === 2)
  })

  it('makes retries that are due together ready by account, so that one account keeps no other waiting', async () => {
    const { inbox, table, pool } = await open()
    await inbox.put(makeItem('0', 'flood'))
    await inbox.put(makeItem('1', 'small'))
    const columns = 'account, id, type, received_at, since'
    await pool.query(`UPDATE ${table} SET state = 1, position = 10000, due_at = 10000 WHERE account = 'small'`)
    await pool.query(`WITH more AS (
      INSERT INTO ${table} (key, state, position, due_at, ${columns})
      SELECT 'more' || n, 1, n, n, ${columns} FROM ${table}, generate_series(1, 9999) n WHERE account = 'flood' RETURNING seq
    ) INSERT INTO ${table}_bodies SELECT seq, '{}' FROM more`)
    const ran: string[] = []
    work(inbox, ({ accountKey }) => {
      ran.push(accountKey)
      return DONE
    })
    await until(() => ran.includes('small'))
    expect(ran.indexOf('small')).toBeLessThan(50)
  })

  it('does not wait for rows that another transaction has locked, nor for one that stays open', async () => {
    const { inbox, table } = await open()
    for (const id of ['1', '2', '3']) await inbox.put(makeItem(id))
    const holder = await scene.pool().connect()
    onTestFinished(() => holder.release(true))
    await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await holder.query(`SELECT FROM ${table} WHERE key = 'k1' FOR UPDATE`)
    const ran: string[] = []
    work(inbox, ({ key }) => {
      ran.push(key)
      return DONE
    })
    await until(() => ran.length === 2)
    await inbox.put(makeItem('1'))
    await inbox.put(makeItem('4'))
    await until(() => ran.length === 3)
    await holder.query('COMMIT')
    await until(() => ran.length === 4)
    expect(ran).toEqual(['k2', 'k3', 'k4', 'k1'])
  })
})

it('a search begins at the place of an earlier find, and at the beginning as often as that is cheap', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const starts = new Starts()
  const search = (tookMs: number, first: number) => {
    const { from, end } = starts.begin()
    vi.advanceTimersByTime(tookMs)
    end([first, first])
    return from[0]
  }
  expect(search(100, 1)).toBe(0)
  const found = [2, 3, 4, 5, 6, 7, 8].map((first) => {
    vi.advanceTimersByTime(400)
    return search(0, first)
  })
  expect(found).toEqual([0, 0, 0, 1, 1, 1, 4]) // the place of a find of a second ago
  vi.advanceTimersByTime(3_000)
  expect(search(100, 9)).toBe(0) // fifty times as long as the first one took
})
