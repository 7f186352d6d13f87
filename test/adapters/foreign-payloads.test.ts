import { join } from 'node:path'
import examples from '@octokit/webhooks-examples'
import { sign } from '@octokit/webhooks-methods'
import { createReceiver, type OpenData, type Receiver, receiveFrom, type WebhookEvent } from 'postern'
import { github } from 'postern/senders'
import { openSqlite, sqliteInbox, sqliteStore } from 'postern/sqlite'
import { events, signed, silentLogger } from 'postern/testing'
import { expect, it, onTestFinished } from 'vitest'
import { makeTestFolder } from '../support/test-folder.ts'
import { hosts } from './http/hosts.ts'

const SECRET = 'whsec_foreign'

/** The types of the package say that a list is the default export, and Node that it is the module. */
const webhooks: unknown = examples

interface Webhook {
  readonly name: string
  readonly examples: readonly OpenData[]
}

/** Bodies that nobody here wrote: each payload that GitHub publishes as an example of its webhooks, as the data of an event. */
const sent: readonly WebhookEvent<string, unknown>[] = (webhooks as readonly Webhook[])
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

it('reach the handlers of their own types by the signature of GitHub', async () => {
  const receiver = receiveFrom(github(), { secret: SECRET, logger: silentLogger })
  const handled: unknown[] = []
  const types = (webhooks as readonly Webhook[]).flatMap(({ name, examples: data }) =>
    data.map(({ action }) => (typeof action === 'string' ? `${name}.${action}` : name)),
  )
  for (const type of new Set(types)) receiver.on(type, (event) => void handled.push([event.type, event.data]))
  for (const [index, { data }] of sent.entries()) {
    const body = JSON.stringify(data)
    const headers = {
      'x-hub-signature-256': await sign(SECRET, body),
      'x-github-event': types[index]?.split('.', 1)[0],
      'x-github-delivery': `delivery-${index}`,
    }
    expect(await receiver.receive({ body: Buffer.from(body), headers }), types[index]).toMatchObject({
      outcome: 'handled',
    })
  }
  expect(handled).toEqual(types.map((type, index) => [type, sent[index]?.data]))
})
