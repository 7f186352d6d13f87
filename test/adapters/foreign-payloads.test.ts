import { join } from 'node:path'
import examples from '@octokit/webhooks-examples'
import { createReceiver, type Receiver, type WebhookEvent } from 'postern'
import { openSqlite, sqliteInbox, sqliteStore } from 'postern/sqlite'
import { events, signed, silentLogger } from 'postern/testing'
import { expect, it, onTestFinished } from 'vitest'
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

it('reach the handler through the inbox', async () => {
  const database = openSqlite(join(makeTestFolder(), 'inbox.db'))
  const options = { store: sqliteStore({ database }), inbox: sqliteInbox({ database }) }
  await expectAll(options, (receiver) => receiver.receive)
})
