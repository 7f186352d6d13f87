import { expect, it } from 'vitest'
import { call, pick, sink, start } from './support.ts'

const WEBHOOKS = '/api/integrations/webhooks'

async function scene() {
  const crm = await start()
  const receiver = await sink(crm.clock, 500)
  const theirs = crm.webhooks.create({ url: receiver.url, events: ['contact.created'] }, { accountKey: 'globex' })
  crm.records.create('contact', { email: 'secret@globex.test' }, { accountKey: 'globex' })
  await crm.clock.advance('3h')
  const [delivery] = crm.deliveries.list({ webhookId: theirs.id })
  return { crm, theirs, deliveryId: delivery?.id, mine: await crm.login({ accountKey: 'acme' }) }
}

it.each([
  ['GET', ''],
  ['PUT', ''],
  ['DELETE', ''],
  ['GET', '/deliveries'],
  ['POST', '/retry/{delivery_id}'],
])("answers 404 for the ids of another account's, as for unknown ids: %s {id}%s", async (method, rest) => {
  const { crm, theirs, deliveryId, mine } = await scene()
  const options = { token: mine, ...(method === 'PUT' && { body: { active: false } }) }
  const path = rest.replace('{delivery_id}', deliveryId ?? '')
  const foreign = await call(crm, `${method} ${WEBHOOKS}/${theirs.id}${path}`, options)
  const unknown = await call(crm, `${method} ${WEBHOOKS}/0123456789abcdef01234567${path}`, options)
  expect(foreign.status).toBe(404)
  expect(foreign.text).toBe(unknown.text)
  expect(crm.webhooks.get(theirs.id)).toEqual(theirs)
  expect(crm.deliveries.list()).toMatchObject([{ status: 'failed' }])
})

it("does not retry another account's delivery through the caller's own webhook", async () => {
  const { crm, deliveryId, mine } = await scene()
  const own = await call(crm, `POST ${WEBHOOKS}`, {
    token: mine,
    body: { url: 'http://localhost/', events: ['sync.failed'] },
  })
  const path = `${WEBHOOKS}/${pick(own.json, '_id')}/retry/${deliveryId}`
  expect((await call(crm, `POST ${path}`, { token: mine })).status).toBe(404)
})

it('lists nothing of another account: contacts, webhooks', async () => {
  const { crm, mine } = await scene()
  expect((await call(crm, 'GET /api/sales/contacts', { token: mine })).json).toEqual([])
  expect((await call(crm, `GET ${WEBHOOKS}`, { token: mine })).json).toEqual([])
})

it("delivers nothing of one account to the other's webhooks, whatever they name", async () => {
  const crm = await start()
  const [acme, globex] = [await sink(), await sink()]
  for (const [accountKey, { url }] of [
    ['acme', acme],
    ['globex', globex],
  ] as const)
    crm.webhooks.create({ url, events: ['contact.created', 'sync.failed'] }, { accountKey })
  for (const accountKey of ['acme', 'globex']) {
    crm.records.create('contact', { of: accountKey }, { accountKey })
    crm.events.emit({ type: 'sync.failed' }, { accountKey })
  }
  await crm.clock.advance(0)
  for (const [accountKey, { received }] of [
    ['acme', acme],
    ['globex', globex],
  ] as const) {
    expect(received).toHaveLength(2)
    for (const { body } of received) expect(JSON.parse(String(body))).toMatchObject({ accountKey })
  }
})

it.each(['constructor', '__proto__', 'toString'])('separates an account and records with the name %s', async (name) => {
  const crm = await start({ accounts: [{ key: 'constructor', email: 'toString', password: '__proto__' }] })
  const token = await crm.login({ accountKey: 'constructor' })
  expect((await call(crm, 'GET /api/sales/contacts', { token })).json).toEqual([])
  expect((await call(crm, `GET ${WEBHOOKS}/${name}`, { token })).status).toBe(404)
  expect((await call(crm, `GET /_emulator/deliveries/${name}`)).status).toBe(404)
  expect((await call(crm, `GET /_emulator/records/contact/${name}`)).status).toBe(404)
  const made = await call(crm, 'POST /_emulator/records/constructor?accountKey=constructor', {
    body: `{"_id":"${name}","__proto__":{"x":1}}`,
  })
  expect(made.text).toBe(`{"_id":"${name}","__proto__":{"x":1}}`)
  expect((await call(crm, 'GET /_emulator/records/constructor')).json).toEqual([])
})
