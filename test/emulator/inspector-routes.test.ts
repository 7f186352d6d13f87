import { createHash, createHmac } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { verify } from 'postern'
import { startEmulator } from 'postern/emulator'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ASSUMPTIONS } from '../../src/emulator/assumptions.ts'
import { SIGNINGS } from '../../src/emulator/signing.ts'
import { call, pick, quiet, serve, sink, start } from './support.ts'

describe('the page', () => {
  it('redirects from its address with a slash at the end', async () => {
    const crm = await start()
    const { status, headers } = await fetch(`${crm.url}/_inspector/?d=x`, { redirect: 'manual' })
    expect([status, headers.get('location')]).toEqual([302, '/_inspector?d=x'])
  })

  it('is one file with a strict policy and a new nonce each time, below 60 KB', async () => {
    const crm = await start()
    const [one, other] = [await call(crm, 'GET /_inspector'), await call(crm, 'GET /_inspector')]
    const policy = one.headers.get('content-security-policy') ?? ''
    const [, nonce = ''] = /script-src 'nonce-([\w-]{24})'/.exec(policy) ?? []
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("require-trusted-types-for 'script'")
    expect(policy).not.toMatch(/unsafe|\*/)
    expect(one.text.match(/nonce="[^"]*"/g)).toEqual([`nonce="${nonce}"`, `nonce="${nonce}"`])
    expect(other.text.includes(nonce)).toBe(false)
    expect(/<(script|link|img)[^>]+(src|href)="http|__NONCE__/.test(one.text)).toBe(false)
    expect(one.headers.get('cache-control')).toBe('no-store')
    expect(gzipSync(one.text).length).toBeLessThan(60_000)
  })

  it('answers to names of loopback only', async () => {
    const crm = await start()
    for (const host of ['evil.test', 'evil.test:4010'])
      expect((await crm.fetch(new Request(`${crm.url}/_inspector`, { headers: { host } }))).status).toBe(403)
  })
})

describe('routes of the page', () => {
  it('rows: the newest first, one part at a time', async () => {
    const crm = await start({ assume: { eventsWhilePaused: 'kept' } })
    crm.webhooks.create({ url: 'http://127.0.0.1:9/', events: ['sync.failed'], active: false })
    const ids = crm.events.emitMany({ type: 'sync.failed' }, 5).map(({ deliveries }) => deliveries[0])
    const first = (await call(crm, 'GET /_emulator/rows?limit=2')).json
    expect(first).toMatchObject({ total: 5, rows: [{ id: ids[4] }, { id: ids[3], last: null, attempts: 0 }] })
    const rest = (await call(crm, `GET /_emulator/rows?before=${ids[3]}`)).json
    expect(rest).toMatchObject({ rows: [{ id: ids[2] }, { id: ids[1] }, { id: ids[0] }] })
    expect((await call(crm, `GET /_emulator/rows?before=${ids[0]}`)).json).toMatchObject({ total: 5, rows: [] })
    expect((await call(crm, 'GET /_emulator/rows?before=nothing')).status).toBe(404)
  })

  it('webhooks: created, changed, deleted, and the secret only on request', async () => {
    const crm = await start()
    const fields = { url: 'http://127.0.0.1:9/', events: ['sync.failed'], accountKey: 'globex' }
    const made = await call(crm, 'POST /_emulator/webhooks', { body: fields })
    const path = `/_emulator/webhooks/${pick(made.json, 'id')}`
    const { secret } = crm.webhooks.get(pick(made.json, 'id'))
    expect(made).toMatchObject({ status: 201, json: { accountKey: 'globex', active: true } })
    const changed = await call(crm, `PUT ${path}`, { body: { active: false } })
    expect(changed).toMatchObject({ status: 200, json: { active: false, url: fields.url } })
    for (const { text } of [made, changed, await call(crm, 'GET /_emulator/state')]) expect(text).not.toContain(secret)
    expect((await call(crm, `GET ${path}/secret`)).status).toBe(405)
    expect((await call(crm, `POST ${path}/secret`, { body: {} })).json).toEqual({ secret })
    expect((await call(crm, `DELETE ${path}`)).status).toBe(204)
    expect(crm.webhooks.list()).toEqual([])
    const refused = { ...fields, url: 'ftp://localhost/' }
    expect((await call(crm, 'POST /_emulator/webhooks', { body: refused })).status).toBe(422)
  })

  it('deliveries: retried, and resent many times', async () => {
    const crm = await start({ retryScale: 60_000 })
    let status = 500
    const receiver = await serve((request, response) => {
      request.resume()
      response.writeHead(status).end()
    })
    crm.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
    crm.events.emit({ type: 'sync.failed' })
    const path = `/_emulator/deliveries/${crm.deliveries.list()[0]?.id}`
    expect((await call(crm, `POST ${path}/retry`, { body: {} })).status).toBe(409)
    await crm.clock.advance('1m')
    status = 200
    expect(await call(crm, `POST ${path}/retry`, { body: {} })).toMatchObject({
      status: 202,
      json: { status: 'pending' },
    })
    expect(await call(crm, `POST ${path}/resend`, { body: { count: 8 } })).toMatchObject({
      status: 202,
      json: { length: 8 },
    })
    await crm.clock.advance(0)
    expect(crm.deliveries.list().map((each) => each.status)).toEqual(Array(9).fill('success'))
  })

  it('bodies: sent unchanged, if their type is requested', async () => {
    const crm = await start()
    const receiver = await sink()
    const { secret } = crm.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
    const body = '{"type":"sync.failed",\t"id":"evt_1"}\r\n'
    const bodyBase64 = Buffer.from(body).toString('base64')
    for (const given of [{ body }, { bodyBase64 }])
      expect(await call(crm, 'POST /_emulator/bodies', { body: given })).toMatchObject({
        status: 202,
        json: { id: 'evt_1' },
      })
    await crm.clock.advance(0)
    expect(receiver.received.map((each) => String(each.body))).toEqual([body, body])
    expect(verify(body, receiver.received[0]?.headers['x-service-signature'], secret)).toBe(true)
    for (const wrong of ['{}', '[]', 'no JSON', '{"id":"x","type":""}'])
      expect((await call(crm, 'POST /_emulator/bodies', { body: { body: wrong } })).status).toBe(422)
  })

  it('calls, records, samples and assumptions', async () => {
    const crm = await start({ dialect: 'nest' })
    await call(crm, 'GET /api/sales/contacts')
    expect((await call(crm, 'GET /_emulator/calls')).json).toMatchObject([
      { method: 'GET', path: '/api/sales/contacts', status: 401 },
    ])
    crm.records.create('contact')
    crm.records.create('deal', {}, { accountKey: 'globex' })
    expect((await call(crm, 'GET /_emulator/records')).json).toEqual([
      { accountKey: 'acme', model: 'contact', count: 1 },
      { accountKey: 'globex', model: 'deal', count: 1 },
    ])
    expect((await call(crm, 'GET /_emulator/samples/contact.created')).text).toContain('zoe@example.test')
    const types = (await call(crm, 'GET /_emulator/types')).json as string[] // as the page answers
    expect(types).toHaveLength(15)
    expect(types).toEqual(
      expect.arrayContaining(['contact.created', 'financeInvoice.deleted', 'finance.payment.failed']),
    )
    const { json } = await call(crm, 'GET /_emulator/assumptions')
    expect(json).toHaveLength(40)
    expect(json).toContainEqual({
      ...{ id: ASSUMPTIONS.listBody.id, name: 'listBody', subject: ASSUMPTIONS.listBody.subject },
      ...{ value: 'items', meaning: ASSUMPTIONS.listBody.values.items, isDefault: false },
    })
    const usual = expect.objectContaining({ name: 'signatureCase', value: 'lower', isDefault: true })
    expect(json).toContainEqual(usual)
  })
})

describe('a signature, step by step', () => {
  it.each(SIGNINGS.filter((signing) => signing !== 'stale-bytes'))('reports the sent bytes: %s', async (sign) => {
    const crm = await start()
    const receiver = await sink()
    const { secret } = crm.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
    crm.events.emit({ type: 'sync.failed' })
    const made = crm.deliveries.resend(crm.deliveries.list()[0]?.id ?? '', { sign })
    await crm.clock.advance(0)
    const { body, rawHeaders = [] } = receiver.received[1] ?? {}
    const sent = rawHeaders.filter((_value, at) => rawHeaders[at - 1] === 'X-Service-Signature')
    const { json, text } = await call(crm, `GET /_emulator/deliveries/${made.id}/signature`)
    expect(json).toMatchObject({
      bytes: body?.length,
      bodySha256: createHash('sha256')
        .update(body ?? '')
        .digest('hex'),
      digest: createHmac('sha256', secret)
        .update(body ?? '')
        .digest('hex'),
      sent,
      isRight: sign === 'valid',
    })
    expect(sent).toHaveLength(sign === 'none' ? 0 : sign === 'two-headers' ? 2 : 1)
    expect(verify(body ?? '', sent, secret)).toBe(sign === 'valid')
    expect(text).not.toContain(secret)
  })

  it('has digests of common mistakes', async () => {
    const crm = await start()
    const { secret } = crm.webhooks.create({ url: 'http://127.0.0.1:9/', events: ['sync.failed'] })
    crm.events.emit({ type: 'sync.failed' })
    const [delivery] = crm.deliveries.list()
    const compact = JSON.stringify(JSON.parse(Buffer.from(delivery?.bytes ?? []).toString()))
    const { text } = await call(crm, `GET /_emulator/deliveries/${delivery?.id}/signature`)
    expect(text).toContain(createHmac('sha256', secret).update(compact).digest('hex'))
    expect(text).toContain(
      createHmac('sha256', `${secret}\n`)
        .update(delivery?.bytes ?? '')
        .digest('hex'),
    )
  })
})

describe('pages of other sites', () => {
  it.each(['cross-site', 'same-site'])('are refused, even if they name no origin: %s', async (site) => {
    const crm = await start()
    for (const path of ['state', 'stream', 'stream?form=rows', 'deliveries'])
      expect((await call(crm, `GET /_emulator/${path}`, { headers: { 'sec-fetch-site': site } })).status).toBe(403)
  })

  it.each(['same-origin', 'none'])('are distinguished from the page itself and the address bar: %s', async (site) => {
    const crm = await start()
    expect((await call(crm, 'GET /_emulator/state', { headers: { 'sec-fetch-site': site } })).status).toBe(200)
  })
})

it('splits an attempt into its parts', async () => {
  const crm = await startEmulator({ logger: quiet }) // on the machine's clock
  onTestFinished(() => crm.close())
  const receiver = await serve((request, response) => {
    request.resume()
    setTimeout(() => {
      response.writeHead(200).write('{')
      setTimeout(() => response.end('}'), 30)
    }, 30)
  })
  crm.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
  crm.webhooks.create({ url: 'http://127.0.0.1:9/', events: ['sync.failed'] })
  crm.events.emit({ type: 'sync.failed' })
  await crm.deliveries.whenIdle()
  const [good, refused] = crm.deliveries.list().map(({ attempts }) => attempts[0])
  const { connectMs = -1, waitMs = -1, bodyMs = -1 } = good?.phases ?? {}
  expect([connectMs >= 0, waitMs >= 25, bodyMs >= 25]).toEqual([true, true, true])
  expect(connectMs + waitMs + bodyMs).toBeCloseTo(good?.durationMs ?? 0, 3)
  expect(refused).toMatchObject({ failure: 'refused', phases: {} })
})
