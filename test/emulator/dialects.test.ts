import { createReceiver } from 'postern'
import { DIALECTS, type Dialect } from 'postern/emulator'
import { nodeHandler } from 'postern/node'
import { describe, expect, it } from 'vitest'
import { ADA, call, pick, quiet, serve, sink, start } from './support.ts'

const WEBHOOKS = '/api/integrations/webhooks'

/** A client's calls in a dialect, from the registration to the deletion. */
async function tour(dialect: Dialect) {
  const crm = await start({ dialect })
  const token = await crm.login()
  const receiver = await sink(crm.clock, 500)
  const api = (line: string, body?: object) => call(crm, line, { token, body })
  const login = await call(crm, 'POST /api/identity/auth/login', { body: ADA })
  const { id } = crm.webhooks.create({ url: receiver.url, events: ['contact.created'] })
  crm.records.create('contact', { firstName: 'Zoë' })
  await crm.clock.advance('30s')
  const log = await api(`GET ${WEBHOOKS}/${id}/deliveries`)
  const refused = await api(`POST ${WEBHOOKS}/${id}/retry/${crm.deliveries.list()[0]?.id}`)
  await crm.clock.advance('3h')
  const fresh = await crm.login()
  const calls = {
    login,
    log,
    refused,
    read: await call(crm, `GET ${WEBHOOKS}/${id}`, { token: fresh }),
    gone: await call(crm, `GET ${WEBHOOKS}/none`, { token: fresh }),
    expired: await call(crm, `GET ${WEBHOOKS}`, { token }),
  }
  return { calls, receiver }
}

describe('the dialect', () => {
  it('hostile: errors as text and HTML, no rate headers, unknown states, undocumented fields', async () => {
    const { calls, receiver } = await tour('hostile')
    expect(pick(calls.login.json, 'accessToken')).toMatch(/^opaque_/)
    expect(calls.expired.text).toBe('Unauthorized: the token has expired')
    expect(calls.gone.text).toMatch(/^<!doctype html>/)
    for (const { headers } of Object.values(calls))
      expect([...headers.keys()].filter((name) => name.startsWith('x-rate'))).toEqual([])
    expect(calls.log.json).toMatchObject({
      docs: [{ status: 'parked', id: expect.stringMatching(/^\d+$/), flags: ['beta'] }],
    })
    expect(calls.read.json).toMatchObject({ id: expect.stringMatching(/^\d+$/), owner: { id: 1 } })
    expect(calls.refused.status).toBe(400)
    expect(receiver.received[0]?.headers['x-service-signature']).toMatch(/^sha256=[0-9A-F]{64}$/)
  })

  it.each(Object.keys(DIALECTS) as Dialect[])(
    '%s: a receiver handles its deliveries in the same way',
    async (dialect) => {
      const crm = await start({ dialect, format: 'random' })
      let secret = ''
      const runs: string[] = []
      const receiver = createReceiver({ secret: () => secret, clock: crm.clock, logger: { ...quiet, error() {} } })
      receiver.on('contact.created', (event) => {
        runs.push(event.id)
        if (runs.length === 1) throw new Error('down')
      })
      const { url } = await serve(nodeHandler(receiver))
      secret = crm.webhooks.create({ url, events: ['contact.created'] }).secret
      crm.records.create('contact')
      await crm.clock.advance('30s')
      expect(crm.deliveries.list()).toMatchObject([{ status: 'success', eventId: runs[0] }])
      expect(runs).toHaveLength(2)
    },
  )
})
