import { type OpenData, receiveFrom } from 'postern'
import { openSqlite, sqliteInbox, sqliteStore } from 'postern/sqlite'
import { silentLogger } from 'postern/testing'
import { expect, it, onTestFinished } from 'vitest'
import { vendors } from '../senders/vendors.ts'
import { makePath } from './scene.ts'

// The suites of inboxes and stores show that each engine keeps bytes and keys.
it('passes events of other senders through an inbox and a store unchanged', async () => {
  const database = openSqlite(makePath())
  onTestFinished(() => database.close())
  const [inbox, store] = [sqliteInbox({ database }), sqliteStore({ database })]
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
})
