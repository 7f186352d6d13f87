import { ensureWebhook, replayFailed, rotateWebhook } from 'postern/client'
import type { Dialect, EmulatorOptions } from 'postern/emulator'
import { describe, expect, it } from 'vitest'
import { ASSUMPTIONS } from '../../tools/emulator/assumptions.ts'
import { assumeAll, DIALECTS } from '../../tools/emulator/dialects.ts'
import { type Scene, setScene } from './emulated.ts'
import { clientOf, collect, failureOf } from './support.ts'

const EVENTS = ['contact.created', 'contact.updated']
const PUBLIC_URL = 'https://app.example.com/hooks'

/** Properties that the client relies on, whatever the form of the service's answers. */
const WALKS: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  'a login that is refused': async ({ crm }) => {
    const stranger = clientOf(crm, { password: 'wrong' })
    expect(await failureOf(stranger.webhooks.list())).toMatchObject({ code: 'login_refused' })
  },

  'a webhook from its creation to its end': async ({ client }) => {
    const { webhook, secret } = await client.webhooks.create({ url: PUBLIC_URL, events: EVENTS, active: false })
    const { id } = webhook
    expect(webhook).toMatchObject({ url: PUBLIC_URL, events: EVENTS, active: false })
    expect(secret.length).toBeGreaterThan(10)
    expect(await client.webhooks.get(id)).toMatchObject({ id, url: PUBLIC_URL, active: false })
    expect(await client.webhooks.resume(id)).toMatchObject({ id, url: PUBLIC_URL, active: true })
    expect(await client.webhooks.pause(id)).toMatchObject({ id, active: false })
    expect(await client.webhooks.update(id, { events: ['contact.deleted'] })).toMatchObject({
      id,
      events: ['contact.deleted'],
      url: PUBLIC_URL,
    })
    expect(await client.webhooks.delete(id)).toBeUndefined()
    expect(await failureOf(client.webhooks.get(id))).toMatchObject({ code: 'not_found' })
    expect(await failureOf(client.webhooks.delete(id))).toMatchObject({ code: 'not_found' })
  },

  'lists of more than one page': async ({ crm, client }) => {
    const paused = { events: EVENTS, active: false } // nothing is to be sent to that host
    const ids: string[] = []
    for (let n = 0; n < 25; n++) ids.push(crm.webhooks.create({ url: `${PUBLIC_URL}/${n}`, ...paused }).id)
    expect((await client.webhooks.list()).map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
    const contacts = Array.from(
      { length: 120 },
      (_, n) => crm.records.create('contact', { email: `${n}@example.test` })._id,
    )
    expect((await collect(client.contacts())).map(({ id }) => id).toSorted()).toEqual(contacts.toSorted())
  },

  'what is refused': async ({ client, crm }) => {
    const { id } = crm.webhooks.create({ url: PUBLIC_URL, events: EVENTS }, { accountKey: 'globex' })
    expect(await failureOf(client.webhooks.get(id))).toMatchObject({ code: 'not_found' })
    expect(await failureOf(client.retry(id, id))).toMatchObject({ code: 'not_found' })
    const refused = client.webhooks.create({ url: 'http://crm.example.com/hooks', events: EVENTS })
    expect(await failureOf(refused)).toMatchObject({ code: 'request_refused' })
  },

  'a registration that is ensured, twice': async ({ client, url, keeper, crm, handled }) => {
    const ensure = () => ensureWebhook(client, { url, events: EVENTS, ...keeper })
    const first = await ensure()
    expect(first).toMatchObject({ isNew: true, webhook: { active: true } })
    expect(await ensure()).toMatchObject({ isNew: false, webhook: { id: first.webhook.id } })
    crm.records.create('contact', {})
    await crm.deliveries.whenIdle()
    expect([...handled.values()]).toEqual([1])
  },

  'what failed, brought back': async ({ client, url, keeper, crm, handled, app }) => {
    const { webhook } = await ensureWebhook(client, { url, events: EVENTS, ...keeper })
    const failTwo = async () => {
      app.isDown = true
      for (let n = 0; n < 2; n++) crm.records.create('contact', {})
      await crm.clock.advance('3h')
      app.isDown = false
    }
    // On the first page of the log, and on the last.
    await failTwo()
    for (let n = 0; n < 98; n++) crm.records.create('contact', {})
    await crm.deliveries.whenIdle()
    await failTwo()
    const log = await collect(client.deliveries(webhook.id))
    expect(log).toHaveLength(102)
    expect(log.filter(({ state }) => state === 'failed')).toHaveLength(4)
    const { events } = await replayFailed(client, { webhookId: webhook.id, concurrency: 8, waitMs: 1_000 })
    expect(events).toHaveLength(4)
    await crm.deliveries.whenIdle()
    expect(handled.size).toBe(102)
    expect([...handled.values()].every((count) => count === 1)).toBe(true)
    // A 2xx confirms the success, whatever the status word is.
    expect(events.map(({ outcome }) => outcome)).toEqual(Array(4).fill('succeeded'))
    expect(await replayFailed(client, { webhookId: webhook.id })).toMatchObject({ events: [], retried: 0 })
    const [done] = crm.deliveries.list()
    expect(await failureOf(client.retry(webhook.id, done?.id ?? ''))).toMatchObject({ code: 'not_retriable' })
  },

  'a rotation': async ({ client, url, keeper, crm, handled }) => {
    const { webhook: old } = await ensureWebhook(client, { url, events: EVENTS, ...keeper })
    for (let n = 0; n < 5; n++) crm.records.create('contact', {})
    await crm.deliveries.whenIdle()
    await crm.clock.advance('4h') // then no word can stand for a pending one
    const options = { webhookId: old.id, ...keeper, pollMs: 600_000 }
    expect(await rotateWebhook(client, { ...options, waitMs: 0 })).toMatchObject({ state: 'waiting', isProven: false })
    crm.records.create('contact', {})
    await crm.deliveries.whenIdle()
    // The client's clock is not that of the service, whose time does not move.
    const { state, webhook } = await rotateWebhook(client, options)
    expect(state).toBe('finished')
    expect(webhook.id).not.toBe(old.id)
    expect(handled.size).toBe(6)
    expect([...handled.values()].every((count) => count === 1)).toBe(true)
    expect((await client.webhooks.list()).map(({ id }) => id)).toEqual([webhook.id])
  },
}

const { 'what failed, brought back': _long, 'a rotation': _longer, ...SHORT_WALKS } = WALKS

/** Assumptions about the API. */
const API = /^A(0\d|1[1-9]|2[0-6]|33|37)$/
/** Values that no dialect has, several in a set: the first of each assumption, then the second, and so on. */
const OTHERS: Record<string, string>[] = []
for (const [name, { id, values }] of Object.entries(ASSUMPTIONS)) {
  const isInDialect = (value: string) =>
    Object.keys(DIALECTS).some((dialect) => Reflect.get(assumeAll(dialect), name) === value)
  const others = API.test(id) ? Object.keys(values).filter((value) => !isInDialect(value)) : []
  for (const [index, value] of others.entries()) OTHERS[index] = { ...OTHERS[index], [name]: value }
}

const meet = (options: EmulatorOptions) => setScene({ rateLimit: '100000/60s', ...options })

describe.each(Object.keys(DIALECTS))('in the dialect %s', (dialect) => {
  it.each(Object.entries(WALKS))('client and emulator agree: %s', async (_walk, walk) => {
    await walk(await meet({ dialect: dialect as Dialect })) // a key of them
  })
})

describe.each(OTHERS)('if %j', (assume) => {
  it.each(Object.entries(SHORT_WALKS))('client and emulator agree: %s', async (_walk, walk) => {
    await walk(await meet({ assume }))
  })
})
