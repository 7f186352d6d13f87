import pg from 'pg'
import { createReceiver, type Outcome, type Store, type WebhookEvent } from 'postern'
import { type PostgresStore, postgresStore } from 'postern/postgres'
import { redisStore } from 'postern/redis'
import { openSqlite, type SqliteDatabase, sqliteInbox, sqliteStore } from 'postern/sqlite'
import { events, signed } from 'postern/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type PostgresServer, postgresProgram, startPostgres } from '../../engines/postgres-server.ts'
import { redisProgram, startRedis } from '../../engines/redis-server.ts'
import { serverFor } from '../../engines/server-for.ts'
import { connect, keepClients } from './redis/clients.ts'
import { drivers } from './sqlite/drivers.ts'
import { closing, makeFolder } from './sqlite/folder.ts'

const LATEST = { order: 'latest', name: 'crm' } as const

let records = 0
const newRecord = () => `record-${process.pid}-${++records}`

function change(
  record: string,
  second: number,
  action: 'updated' | 'deleted' = 'updated',
): WebhookEvent<string, unknown> {
  const timestamp = new Date(Date.UTC(2025, 0, 1, 0, 0, second)).toISOString()
  return action === 'deleted'
    ? events.contact.deleted(record, { timestamp })
    : events.contact.updated({ _id: record }, { timestamp })
}

const secondOf = ({ timestamp }: { readonly timestamp: string }) =>
  Date.parse(timestamp) / 1_000 - Date.UTC(2025, 0, 1) / 1_000

/** Makes receivers on separate stores, like those of two processes, and a list of the seconds of the events that their handler ran for. */
function makeApp(stores: readonly Store[]) {
  const ran: number[] = []
  const receivers = stores.map((store) =>
    createReceiver({ secret: 'secret', store }).on('contact.*', LATEST, async (event) => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5))
      ran.push(secondOf(event))
    }),
  )
  const dispatch = (event: WebhookEvent<string, unknown>, by = 0): Promise<Outcome> =>
    receivers[by]?.dispatch(event) ?? Promise.reject(new Error('no such receiver'))
  return { ran, dispatch, close: () => Promise.all(receivers.map((receiver) => receiver.close())) }
}

function itKeepsTheOrder(makeStore: () => Store | Promise<Store>): void {
  it('skips events that are older than the latest, no matter which process handled that, even after a restart', async () => {
    const record = newRecord()
    const { ran, dispatch, close } = makeApp([await makeStore(), await makeStore()])
    await dispatch(change(record, 3), 0)
    expect(await dispatch(change(record, 2), 1)).toMatchObject({ outcome: 'handled', skipped: ['crm'] })
    await dispatch(change(record, 5, 'deleted'), 1)
    expect(await dispatch(change(record, 4), 0)).toMatchObject({ skipped: ['crm'] })
    await close()
    const later = makeApp([await makeStore()])
    expect(await later.dispatch(change(record, 4))).toMatchObject({ skipped: ['crm'] })
    expect(await later.dispatch(change(record, 5))).not.toHaveProperty('skipped')
    expect([ran, later.ran]).toEqual([[3, 5], [5]])
    await later.close()
  })

  it('loses no event, and runs none after a newer one was acknowledged', async () => {
    const { ran, dispatch, close } = makeApp([await makeStore(), await makeStore()])
    const record = newRecord()
    const seconds = Array.from({ length: 40 }, (_, index) => (index * 27) % 40)
    let acknowledged = -1
    const early: number[] = []
    await Promise.all(
      seconds.map(async (second, index) => {
        await new Promise((resolve) => setTimeout(resolve, index * 4))
        const before = acknowledged
        const outcome = await dispatch(change(record, second), index % 2)
        expect(outcome.outcome).toBe('handled')
        expect(outcome.skipped === undefined).toBe(ran.includes(second))
        if (second < before && outcome.skipped === undefined) early.push(second)
        if (outcome.skipped === undefined) acknowledged = Math.max(acknowledged, second)
      }),
    )
    expect(early).toEqual([])
    expect(ran).toContain(39)
    await close()
  })
}

describe.skipIf(redisProgram === undefined)('handlers that take only the latest, on a real Redis', () => {
  const server = serverFor(() => startRedis())
  const keep = keepClients()
  itKeepsTheOrder(async () => redisStore({ client: keep(await connect('node-redis', server().port)).client }))
})

describe.skipIf(postgresProgram === undefined)('handlers that take only the latest, on a real Postgres', () => {
  let server: PostgresServer
  const pools: pg.Pool[] = []
  const open = (): PostgresStore<pg.PoolClient> => {
    const pool = new pg.Pool({ connectionString: server.url, max: 6 })
    pools.push(pool)
    return postgresStore({ pool })
  }
  beforeAll(async () => {
    server = await startPostgres()
    await open().migrate()
    await pools[0]?.query('CREATE TABLE contacts (id text PRIMARY KEY, second int, writes int)')
  })
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()))
    await server.remove()
  })

  itKeepsTheOrder(open)

  it('leaves the row of the newest event, however transactions overlap, and skips those that were overtaken', async () => {
    const record = newRecord()
    const stores = [open(), open()]
    const receivers = stores.map((store) =>
      createReceiver({ secret: 'secret', store }).on('contact.*', LATEST, (event, context) =>
        context.transaction(async (tx) => {
          await tx.query('SELECT pg_sleep(random() / 50)')
          await tx.query(
            'INSERT INTO contacts VALUES ($1, $2, 1) ON CONFLICT (id) DO UPDATE SET second = excluded.second, writes = contacts.writes + 1',
            [record, secondOf(event)],
          )
        }),
      ),
    )
    const seconds = Array.from({ length: 30 }, (_, index) => (index * 17) % 30)
    const outcomes = await Promise.all(
      seconds.map((second, index) => receivers[index % 2]?.dispatch(change(record, second), { waitMs: 30_000 })),
    )
    for (const outcome of outcomes) expect(outcome).toMatchObject({ outcome: 'handled' })
    const written = outcomes.filter((outcome) => outcome?.skipped === undefined).length
    const found = await pools[0]?.query('SELECT second, writes FROM contacts WHERE id = $1', [record])
    expect(found?.rows).toEqual([{ second: 29, writes: written }])
    await Promise.all(receivers.map((receiver) => receiver.close()))
  })

  it('stores the positions of a burst of events of one record with a few statements', async () => {
    const store = open()
    let statements = 0
    pools.at(-1)?.on('connect', (client) => {
      const query = client.query
      Object.assign(client, {
        query: (...given: readonly unknown[]) => {
          statements++
          return Reflect.apply(query, client, given)
        },
      })
    })
    const key = newRecord()
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, index) => store.advance?.(key, (index * 7) % 300)),
    )
    expect(answers.filter(Boolean).length).toBeGreaterThan(0)
    expect(answers[(299 * 43) % 300]).toBe(true) // 7 * 43 is 1 more than 300
    expect(await store.positions?.([key])).toEqual([299])
    expect(statements).toBeLessThan(20)
  })

  it('keeps positions in the table of the previous version, and sweeps them with expired rows', async () => {
    const table = 'swept_positions'
    const pool = new pg.Pool({ connectionString: server.url, max: 3 })
    pools.push(pool)
    const store = postgresStore({ pool, table, retentionMs: 50 })
    await store.migrate()
    await store.advance?.('7:default4:acme@old', 1)
    await new Promise((resolve) => setTimeout(resolve, 200))
    const claim = await store.claim('key', 15_000)
    await store.complete('key', claim.state === 'claimed' ? claim.token : '')
    const left = async () => (await pool.query(`SELECT key FROM ${table} ORDER BY key`)).rows.map(({ key }) => key)
    await expect.poll(left).toEqual(['key'])
  })
})

const fileOf = makeFolder()
describe.each(drivers)('handlers that take only the latest, on SQLite by %s', (driver) => {
  let files = 0
  const open = (name: string): SqliteDatabase =>
    closing(openSqlite(fileOf(`${driver.replace(':', '-')}-${name}.db`), { driver }))

  itKeepsTheOrder(() => sqliteStore({ database: open('shared') }))

  it('commits row, mark and position together, and does not run the work of an outdated event', async () => {
    const database = open(`rows-${++files}`)
    database.exec('CREATE TABLE contacts (second INTEGER)')
    const receiver = createReceiver({ secret: 'secret', store: sqliteStore({ database }) })
    const record = newRecord()
    receiver.on('contact.*', LATEST, async (event, context) => {
      // Older events reach their transaction later.
      await new Promise((resolve) => setTimeout(resolve, 40 - secondOf(event) * 4))
      await context.transaction((tx) => tx.prepare('INSERT INTO contacts VALUES (?)').run(secondOf(event)))
    })
    const outcomes = await Promise.all([1, 5, 9].map((second) => receiver.dispatch(change(record, second))))
    expect(outcomes).toMatchObject([{ skipped: ['crm'] }, { skipped: ['crm'] }, { outcome: 'handled' }])
    expect(database.prepare('SELECT second FROM contacts').all()).toEqual([{ second: 9 }])
    await receiver.close()
  })

  it('skips in the worker of an inbox', async () => {
    const database = open(`inbox-${++files}`)
    const told: Outcome[] = []
    const ran: number[] = []
    const receiver = createReceiver({
      secret: 'secret',
      store: sqliteStore({ database }),
      inbox: sqliteInbox({ database }),
      onOutcome: (outcome) => told.push(outcome),
    })
    receiver.on('contact.*', LATEST, (event) => void ran.push(secondOf(event)))
    const record = newRecord()
    const send = async (second: number) => {
      expect(await receiver.receive(signed(change(record, second), { secret: 'secret' }))).toMatchObject({
        outcome: 'accepted',
      })
    }
    const worker = receiver.work({ concurrency: 1 })
    await send(7)
    await expect.poll(() => ran).toEqual([7])
    await send(6)
    await expect.poll(() => told.at(-1)).toMatchObject({ outcome: 'handled', skipped: ['crm'] })
    expect(ran).toEqual([7])
    await worker.close()
    await receiver.close()
  })
})
