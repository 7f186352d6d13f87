import { join } from 'node:path'
import examples from '@octokit/webhooks-examples'
import pg from 'pg'
import { createReceiver, memoryStore, type Receiver, type Store, type WebhookEvent } from 'postern'
import { postgresStore } from 'postern/postgres'
import { redisStore } from 'postern/redis'
import { openSqlite, sqliteInbox, sqliteStore } from 'postern/sqlite'
import { events, signed, silentLogger } from 'postern/testing'
import { createClient } from 'redis'
import { expect, it, onTestFinished } from 'vitest'
import { postgresProgram, startPostgres } from '../engines/postgres-server.ts'
import { redisProgram, startRedis } from '../engines/redis-server.ts'
import { makeTestFolder } from '../support/test-folder.ts'
import { hosts } from './http/hosts.ts'

const SECRET = 'whsec_foreign'

/** The types of the package say that a list is the default export, and Node that it is the module. */
const webhooks: unknown = examples

/** Bodies that nobody here wrote: each payload that GitHub publishes as an example of its webhooks, as the data of an event. */
const sent: readonly WebhookEvent<string, unknown>[] = (
  webhooks as readonly { readonly examples: readonly unknown[] }[]
)
  .flatMap((webhook) => webhook.examples)
  .map((data, index) => ({ ...events.syncCompleted(), id: `evt_${index}`, data }))

type Delivery = ReturnType<typeof signed>

/** Expects that a receiver refuses each event with one byte changed, and hands it over deeply equal as it is. */
async function expectAll(
  options: Partial<Parameters<typeof createReceiver>[0]>,
  open: (receiver: Receiver) => (delivery: Delivery) => Promise<{ readonly status: number }>,
): Promise<void> {
  const handled = new Map<string, unknown>()
  const receiver = createReceiver({ secret: SECRET, logger: silentLogger, ...options })
  receiver.on('*', ({ id, data }) => void handled.set(id, data))
  onTestFinished(async () => void (await receiver.close({ timeoutMs: 0 })))
  const deliver = open(receiver)
  for (const [index, event] of sent.entries()) {
    const delivery = signed(event, { secret: SECRET })
    const body = Uint8Array.from(delivery.body)
    const at = (index * 7_919) % body.length
    body[at] = (body[at] ?? 0) ^ 1
    expect(await deliver({ ...delivery, body }), event.id).toMatchObject({ status: 401 })
    expect(await deliver(delivery), event.id).toMatchObject({ status: 200 })
  }
  if (options.inbox !== undefined) receiver.work()
  await expect.poll(() => handled.size).toBe(sent.length)
  for (const { id, data } of sent) expect(handled.get(id), id).toEqual(data)
}

it('are all there', () => {
  expect(sent).toHaveLength(329)
})

it.each(hosts)('reach the handler behind $name', async (host) => {
  const running: { port?: number } = {}
  await expectAll({}, (receiver) => {
    const starting = host.start(receiver)
    onTestFinished(async () => (await starting).close())
    return async ({ body, headers }) => {
      running.port ??= (await starting).port
      const given = { 'content-type': 'application/json', ...(headers as Readonly<Record<string, string>>) }
      return fetch(`http://127.0.0.1:${running.port}/webhooks`, { method: 'POST', headers: given, body })
    }
  })
})

const stores: Readonly<Record<string, (() => Promise<Store>) | undefined>> = {
  memory: async () => memoryStore(),
  SQLite: async () => sqliteStore({ database: openSqlite(join(makeTestFolder(), 'events.db')) }),
  Redis:
    redisProgram === undefined
      ? undefined
      : async () => {
          const server = await startRedis()
          const client = createClient({ url: server.url })
          await client.connect()
          onTestFinished(async () => {
            client.destroy()
            await server.remove()
          })
          return redisStore({ client })
        },
  Postgres:
    postgresProgram === undefined
      ? undefined
      : async () => {
          const server = await startPostgres()
          const pool = new pg.Pool({ connectionString: server.url })
          onTestFinished(async () => {
            await pool.end()
            await server.remove()
          })
          const store = postgresStore({ pool })
          await store.migrate()
          return store
        },
}

it.each(Object.entries(stores))('reach the handler with the store of %s', async (_name, open) => {
  if (open !== undefined) await expectAll({ store: await open() }, (receiver) => receiver.receive)
})

it('reach the handler through the inbox', async () => {
  const database = openSqlite(join(makeTestFolder(), 'inbox.db'))
  const options = { store: sqliteStore({ database }), inbox: sqliteInbox({ database }) }
  await expectAll(options, (receiver) => receiver.receive)
})
