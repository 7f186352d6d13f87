import { postgresInbox, postgresInboxSchema, postgresSchema, postgresStore } from 'postern/postgres'
import { silentLogger } from 'postern/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { postgresProgram } from '../../../engines/postgres-server.ts'
import { makeItem, newName } from '../../inbox/engines.ts'
import { newKey, Scene, take } from './scene.ts'

const INBOX_INDEXES = ['_order', '_delayed', '_lost', '_lane', '_workers_ended', '_workers_alone']

/** A table of each kind, with what has to be beside it, and one use of it. */
const KINDS = [
  {
    name: 'postgresStore',
    toSchema: postgresSchema,
    parts: ['_swept'],
    open: (pool: ReturnType<Scene['pool']>, table: string) => {
      const store = postgresStore({ pool, table })
      return { migrate: () => store.migrate(), use: async () => void (await take(store, newKey())) }
    },
  },
  {
    name: 'postgresInbox',
    toSchema: postgresInboxSchema,
    parts: [...INBOX_INDEXES, '_bodies', '_workers'],
    open: (pool: ReturnType<Scene['pool']>, table: string) => {
      const inbox = postgresInbox({ pool, table })
      return { migrate: () => inbox.migrate(), use: async () => inbox.put(makeItem(newKey())) }
    },
  },
] as const

const CASES = KINDS.flatMap((kind) => kind.parts.map((part) => [kind.name, part, kind] as const))

describe.skipIf(postgresProgram === undefined)('migrate', () => {
  const scene = new Scene()

  const has = async (name: string) =>
    (await scene.pool().query('SELECT to_regclass($1) IS NOT NULL AS it', [name])).rows[0].it

  it.each(CASES)('of %s creates what is missing: %s', async (_kind, part, { open }) => {
    const [pool, table] = [scene.pool(), newName()]
    const { migrate, use } = open(pool, table)
    await migrate()
    await use()
    const isIndex = (await pool.query(`SELECT FROM pg_class WHERE relname = $1 AND relkind = 'i'`, [table + part]))
      .rowCount
    await pool.query(`DROP ${isIndex ? 'INDEX' : 'TABLE'} ${table}${part}`)
    await migrate()
    expect(await has(table + part)).toBe(true)
    await use()
  })

  it.each(CASES.filter(([, part]) => !/_bodies|_workers$/.test(part)))(
    'of %s refuses to go on without an index whose name a renamed table has kept: %s',
    async (_kind, part, { open, toSchema }) => {
      const [pool, table] = [scene.pool(), newName()]
      const { migrate } = open(pool, table)
      await migrate()
      const of = part.startsWith('_workers') ? '_workers' : ''
      await pool.query(`ALTER TABLE ${table}${of} RENAME TO ${table}_before`)
      const refusal = await migrate().catch((error: Error) => error)
      expect(refusal).toMatchObject({ message: expect.stringContaining(`"${table}${part}"`) })
      expect(refusal).toMatchObject({ message: expect.stringContaining(`belongs to ${table}_before`) })
      expect(await has(table + of)).toBe(false)
      await expect(pool.query(toSchema({ table }))).rejects.toThrow(`"${table}${part}"`)
      await pool.query(`DROP TABLE ${table}_before`)
      await migrate()
    },
  )

  it('looks for the parts of a table beside it, not in the schema that comes first by now', async () => {
    const [pool, table] = [scene.pool(), newName()]
    await postgresInbox({ pool, table }).migrate()
    await pool.query(
      `CREATE SCHEMA first; ALTER ROLE postgres SET search_path = first, public; DROP INDEX ${table}_order`,
    )
    onTestFinished(async () => void (await pool.query('ALTER ROLE postgres RESET search_path')))
    await postgresInbox({ pool: scene.pool(), table }).migrate()
    expect([await has(`public.${table}_order`), await has(`first.${table}`)]).toEqual([true, false])
  })

  it('needs no rights if nothing is missing, and is not delayed by transactions that write', async () => {
    const [pool, table] = [scene.pool(), newName()]
    const inbox = postgresInbox({ pool, table })
    await inbox.migrate()
    const writer = await pool.connect()
    onTestFinished(() => writer.release(true))
    await writer.query(`BEGIN; LOCK TABLE ${table}, ${table}_bodies, ${table}_workers IN ROW EXCLUSIVE MODE`)
    await inbox.migrate()
  })

  it('is named by an error about a table that is missing, with its name', async () => {
    const [pool, table] = [scene.pool(), newName()]
    const inbox = postgresInbox({ pool, table })
    await inbox.migrate()
    await pool.query(`ALTER TABLE ${table}_bodies RENAME TO ${table}_aside`)
    await expect(inbox.put(makeItem('1'))).rejects.toMatchObject({
      code: 'inbox_unavailable',
      message: expect.stringMatching(new RegExp(`"public.${table}_bodies" does not exist.*await inbox.migrate\\(\\)`)),
    })
  })

  it('is asked for in the log, once the app has started, if an index is missing', async () => {
    const [pool, table] = [scene.pool(), newName()]
    const inbox = postgresInbox({ pool, table })
    await inbox.migrate()
    await pool.query(`DROP INDEX ${table}_order`)
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const told: string[] = []
    inbox.reportTo?.({ ...silentLogger, error: (_, message) => void told.push(message ?? '') })
    vi.advanceTimersByTime(5_000)
    vi.useRealTimers()
    await expect.poll(() => told).toEqual([expect.stringContaining(`"${table}_order" is missing`)])
  })
})
