import { Redis } from 'ioredis'
import pg from 'pg'
import { bullmqInbox } from 'postern/bullmq'
import { postgresInbox } from 'postern/postgres'
import { openSqlite } from 'postern/sqlite'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createConnection } from '../../adapters/queues/bullmq/connection.ts'
import { readCounts } from '../../adapters/queues/bullmq/look.ts'
import { checkOptions } from '../../adapters/queues/bullmq/options.ts'
import { createRedisTime } from '../../adapters/queues/bullmq/redis-time.ts'
import { WorkTable as QueueTable } from '../../adapters/queues/bullmq/work-table.ts'
import { SUSPECT } from '../../adapters/stores/inbox-lines.ts'
import { InboxTables } from '../../adapters/stores/postgres/inbox/inbox-tables.ts'
import { makeInboxStatements } from '../../adapters/stores/postgres/inbox/statements.ts'
import { COMMENT, ENDINGS } from '../../adapters/stores/postgres/inbox/tables.ts'
import { WorkTable } from '../../adapters/stores/postgres/inbox/work-table.ts'
import { SharedPool } from '../../adapters/stores/postgres/shared-pool.ts'
import { Table } from '../../adapters/stores/postgres/table.ts'
import { SqliteInboxTable } from '../../adapters/stores/sqlite/inbox-table.ts'
import { SqliteInboxView } from '../../adapters/stores/sqlite/inbox-view.ts'
import { postgresProgram, startPostgres } from '../engines/postgres-server.ts'
import { redisProgram, startRedis } from '../engines/redis-server.ts'
import { serverFor } from '../engines/server-for.ts'
import { BEGINNINGS, BEGINNINGS_IN_LANE, type Subject, takeEverySequence } from './every-sequence.ts'

/** It ends what hangs. On a busy machine a test may take ten times as long as on an idle one. */
const LIMIT = { timeout: 3_600_000 }
const ALL = Object.entries(BEGINNINGS)
const ALL_IN_LANE = Object.entries(BEGINNINGS_IN_LANE)
/** Lease on servers, whose clocks cannot be set: longer than the tests run. */
const LEASE_MS = 1e9
/** Parts of a worker's table that are the same for all workers. */
const PARTS = { leaseMs: LEASE_MS, onPut: () => () => {}, tidy: async () => {} }

/** The steps of SQLite's engine in one transaction, on a clock that stands still. */
function openOnSqlite(): Subject {
  const database = openSqlite(':memory:')
  let now = Date.now()
  const table = new SqliteInboxTable(database, 'inbox', () => now)
  const view = new SqliteInboxView(database, 'inbox', () => now)
  const rows = database.prepare('SELECT * FROM inbox')
  database.exec('BEGIN')
  return {
    leaseMs: 20_000,
    inbox: {
      put: (item) => void table.put(item),
      replay: async (key) => table.replay(key),
      drop: async (key) => table.drop(key),
      get: async (key) => view.get(key),
      list: async (state) => view.list(state, {}),
      counts: async () => view.counts(),
    },
    tableOf: () => ({
      take: async (request) => table.take(request),
      renew: async (...of) => table.renew(...of),
      settle: async (...of) => table.settle(...of),
    }),
    pass: (ms) => {
      now += ms
    },
    save: () => database.exec('SAVEPOINT saved'),
    restore: () => database.exec('ROLLBACK TO saved'),
    readRows: () => JSON.stringify(rows.all()),
  }
}

it.each(ALL)('SQLite answers every sequence after %s as the contract does', LIMIT, async (_, first) => {
  const depth = first.length === 0 ? 7 : 4
  expect(await takeEverySequence(openOnSqlite(), first, depth)).toBeGreaterThan(900)
})

it.each(ALL_IN_LANE)('SQLite keeps a lane in every sequence after %s', LIMIT, async (_, first) => {
  const depth = first.length === 0 ? 7 : 5
  expect(await takeEverySequence({ ...openOnSqlite(), lane: 'a' }, first, depth)).toBeGreaterThan(1_000)
})

/** Time that passes before each step of a worker: longer than the engine waits before it looks again for what it seldom looks for. */
const PAUSE_MS = 1e6

describe.skipIf(postgresProgram === undefined)('Postgres', () => {
  const server = serverFor(() => startPostgres())
  const { now } = performance
  let passedMs = 0
  let opened = 0
  const pools: pg.Pool[] = []
  beforeAll(() => {
    performance.now = () => now.call(performance) + passedMs
  })
  afterAll(async () => {
    performance.now = now
    await Promise.all(pools.map((pool) => pool.end()))
  })

  /** The server's clock cannot be set: the times that it stored are moved back instead. */
  async function open(): Promise<Subject> {
    const pool = new pg.Pool({ connectionString: server().url, max: 3 })
    pools.push(pool)
    const table = `inbox_${opened++}`
    const inbox = postgresInbox({ pool, table })
    await inbox.migrate()
    const shared = SharedPool.of(pool)
    const kind = { noun: 'inbox', comment: COMMENT, endings: ENDINGS, makeStatements: makeInboxStatements } as const
    const tables = new InboxTables(shared, new Table(shared, { schema: 'public', table }, kind))
    const workers = new Map<string, WorkTable>()
    const run = (...statements: readonly string[]) => pool.query(statements.join(';'))
    return {
      inbox,
      leaseMs: LEASE_MS,
      isLate: true, // the search that finds a delayed suspect takes what is ready
      tableOf(worker) {
        passedMs += PAUSE_MS
        const workTable = workers.get(worker) ?? new WorkTable({ ...PARTS, tables, worker })
        workers.set(worker, workTable)
        return workTable
      },
      pass: (ms) => {
        passedMs += ms
        return run(
          `UPDATE ${table}_workers SET ends_at = ends_at - ${ms * 1_000}`,
          `UPDATE ${table} SET taken_at = taken_at - ${ms * 1_000} WHERE state = ${SUSPECT}`,
        )
      },
      save: () => run(...ENDINGS.map((ending) => `CREATE TABLE saved_${table}${ending} AS TABLE ${table}${ending}`)),
      restore() {
        workers.clear()
        const refill = (name: string) => [`DELETE FROM ${name}`, `INSERT INTO ${name} SELECT * FROM saved_${name}`]
        return run(...ENDINGS.flatMap((ending) => refill(table + ending)))
      },
      async readRows() {
        const alone = `(SELECT json_agg(alone) FROM ${table}_workers)`
        const { rows } = await run(`SELECT json_agg(i)::text AS items, ${alone}::text AS alone FROM ${table} i`)
        return JSON.stringify(rows)
      },
    }
  }

  it.concurrent.each(ALL)('answers every sequence after %s as the contract does', LIMIT, async (_, first) => {
    const depth = first.length === 0 ? 6 : 3
    expect(await takeEverySequence(await open(), first, depth)).toBeGreaterThan(150)
  })

  it.concurrent.each(ALL_IN_LANE)('keeps a lane in every sequence after %s', LIMIT, async (_, first) => {
    const depth = first.length === 0 ? 6 : 4
    expect(await takeEverySequence({ ...(await open()), lane: 'a' }, first, depth)).toBeGreaterThan(200)
  })
})

describe.skipIf(redisProgram === undefined)('BullMQ', () => {
  const server = serverFor(() => startRedis())

  function open(connection: string): Subject {
    const inbox = bullmqInbox({ connection })
    const time = createRedisTime()
    const own = createConnection(checkOptions({ connection }), time, () => {}, LEASE_MS)
    // By the time of the worker's connection: in an inbox, all connections share one.
    const counts = async () => readCounts(await own.get(), time.now())
    const redis = new Redis(connection)
    onTestFinished(async () => {
      await Promise.all([inbox.close(), own.close()])
      redis.disconnect()
    })
    const workers = new Map<string, QueueTable>()
    return {
      inbox: { ...inbox, counts },
      leaseMs: LEASE_MS,
      canLose: false,
      tableOf(worker) {
        const table = workers.get(worker) ?? new QueueTable({ ...PARTS, connection: own, time, worker })
        workers.set(worker, table)
        return table
      },
      pass() {},
      save() {},
      async restore() {
        workers.clear()
        const keys = await redis.keys('bull:*')
        await redis.del('none', ...keys.filter((key) => !key.endsWith(':meta')))
      },
      readRows: () => '',
    }
  }

  // Its suspects and its workers that come back differ from the contract of tables, as docs/decisions/0013-inbox.md says.
  it('answers every sequence in which no lease ends as the contract does', LIMIT, async () => {
    expect(await takeEverySequence(open(server().url), [], 6)).toBeGreaterThan(200)
  })
})
