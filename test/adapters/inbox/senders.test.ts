import { Redis } from 'ioredis'
import pg from 'pg'
import { type OpenData, receiveFrom, type Store } from 'postern'
import { postgresStore } from 'postern/postgres'
import { redisStore } from 'postern/redis'
import { openSqlite, sqliteStore } from 'postern/sqlite'
import { silentLogger } from 'postern/testing'
import { expect, it, onTestFinished } from 'vitest'
import { vendors } from '../../senders/vendors.ts'
import { ENGINES, openInbox, sqlite } from './engines.ts'

async function openStore(name: string, url: string): Promise<Store> {
  if (name === 'sqlite') {
    const database = openSqlite(url)
    onTestFinished(() => database.close())
    return sqliteStore({ database })
  }
  if (name === 'redis') {
    const client = new Redis(url)
    onTestFinished(() => client.disconnect())
    return redisStore({ client })
  }
  const pool = new pg.Pool({ connectionString: url })
  onTestFinished(() => pool.end())
  const store = postgresStore({ pool })
  await store.migrate()
  return store
}

it.each([sqlite, ...ENGINES])(
  'events of other senders pass through the inbox and the store of $name unchanged',
  async (engine) => {
    const server = await engine.start()
    onTestFinished(() => server.remove())
    const [inbox, store] = [await openInbox(engine, server.url), await openStore(engine.name, server.url)]
    for (const vendor of vendors) {
      const { event, secret, sender, body } = vendor
      const receiver = receiveFrom(sender, {
        secret,
        inbox,
        store,
        name: vendor.name.replace(' ', '-'),
        logger: silentLogger,
      })
      const seen: { readonly id: string; readonly data: OpenData; readonly rawBody: string | undefined }[] = []
      const see = ({ id, data }: { id: string; data: OpenData }, { rawBody }: { rawBody: string | undefined }) =>
        void seen.push({ id, data, rawBody })
      receiver.on(event.type, { name: 'one' }, see)
      receiver.on('*', { name: 'two' }, see)
      const at = Date.now() - 4 * 60_000 // the tolerance ends while it waits
      const headers = await vendor.sign(body, secret, { id: vendor.name === 'Shopify' ? 'e1' : event.id, at })
      const accepted = { outcome: 'accepted', ...event }
      expect(await receiver.receive({ body: Buffer.from(body), headers })).toEqual({ ...accepted, status: 200 })
      const worker = receiver.work()
      await expect.poll(() => seen.length).toBe(2)
      const expected = { id: event.id, data: JSON.parse(body), rawBody: body }
      expect(seen, vendor.name).toEqual([expected, expected])
      expect(await receiver.receive({ body: Buffer.from(body), headers })).toMatchObject(accepted)
      await expect.poll(() => inbox.counts()).toMatchObject({ waiting: 0, running: 0 })
      expect(seen, 'the store knows the event').toHaveLength(2)
      await worker.close()
      await receiver.close()
    }
  },
)
