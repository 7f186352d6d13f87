import { gzipSync } from 'node:zlib'
import { sign, verify } from 'postern'
import { describe, expect, it } from 'vitest'
import { call, pick, serve, sink, start } from './support.ts'

describe('the page', () => {
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
    expect(one.headers.get('x-frame-options')).toBe('DENY')
    expect(one.headers.get('strict-transport-security')).toBeNull()
    expect(gzipSync(one.text).length).toBeLessThan(60_000)
  })
})

describe('routes of the page', () => {
  it('rows: the newest first with the state, one of them, and those whose body or answer has a text', async () => {
    const crm = await start({ assume: { eventsWhilePaused: 'kept' } })
    crm.webhooks.create({ url: 'http://127.0.0.1:9/', events: ['sync.failed'], active: false })
    const ids = crm.events.emitMany({ type: 'sync.failed' }, 5).map(({ deliveries }) => deliveries[0])
    const { json } = await call(crm, 'GET /_emulator/rows')
    expect(json).toMatchObject({ total: 5, state: { webhooks: [{ active: false }] } })
    expect(Object(json).rows).toMatchObject(ids.toReversed().map((id) => ({ id, last: null, times: [], record: null })))
    expect((await call(crm, `GET /_emulator/rows/${ids[1]}`)).json).toEqual(Object(json).rows[3])
    expect((await call(crm, 'GET /_emulator/rows/nothing')).status).toBe(404)
    const older = await call(crm, `GET /_emulator/rows?limit=1&before=${Object(json).rows[1].made}`)
    expect(Object(older.json).rows).toMatchObject([{ id: Object(json).rows[2].id }])
    expect(Object((await call(crm, 'GET /_emulator/rows?limit=2')).json).rows).toMatchObject(
      ids
        .slice(3)
        .toReversed()
        .map((id) => ({ id })),
    )
    const [made] = crm.events.emit({ type: 'sync.failed', data: { city: 'Zürich' } }).deliveries
    const found = (await call(crm, `GET /_emulator/search?text=${encodeURIComponent('ZÜRICH')}`)).json
    expect(found).toEqual({ ids: [made], change: 6 })
    expect((await call(crm, 'GET /_emulator/search?text=sync&after=5')).json).toEqual({ ids: [made], change: 6 })
  })

  it('changes: what the list of a cursor does not have, and a new list if deliveries were removed', async () => {
    const crm = await start({ assume: { eventsWhilePaused: 'kept' } })
    const { id } = crm.webhooks.create({ url: 'http://127.0.0.1:9/', events: ['sync.failed'], active: false })
    const cursorOf = ({ json }: Awaited<ReturnType<typeof call>>) => pick(json, 'cursor')
    const changesAfter = (cursor: string) => call(crm, `GET /_emulator/changes?after=${cursor}`)
    crm.events.emit({ type: 'sync.failed' })
    const first = cursorOf(await call(crm, 'GET /_emulator/rows'))
    const [made] = crm.events.emit({ type: 'sync.failed' }).deliveries
    await call(crm, 'GET /api/sales/contacts')
    const changes = await changesAfter(first)
    expect(changes.json).toMatchObject({ mustReload: false, total: 2, rows: [{ id: made }] })
    expect((await call(crm, 'GET /_emulator/calls')).json).toMatchObject([{ status: 401 }])
    expect((await changesAfter(cursorOf(changes))).json).toMatchObject({ mustReload: false, rows: [] })
    crm.webhooks.delete(id)
    for (const cursor of [first, cursorOf(changes), first.replace(/^\w+/, 'other'), 'nonsense'])
      expect((await changesAfter(cursor)).json).toMatchObject({ mustReload: true, rows: [] })
  })

  it('changes: in parts of 2,000, with the last state of each delivery', async () => {
    const crm = await start({ assume: { eventsWhilePaused: 'kept' } })
    const { id } = crm.webhooks.create({ url: 'http://127.0.0.1:9/', events: ['sync.failed'], active: false })
    const first = pick((await call(crm, 'GET /_emulator/rows')).json, 'cursor')
    for (let n = 0; n < 5; n++) crm.events.emitMany({ type: 'sync.failed' }, 900)
    const parts: (readonly object[])[] = []
    for (let cursor = first; parts.at(-1)?.length !== 0; ) {
      const { json } = await call(crm, `GET /_emulator/changes?after=${cursor}`)
      parts.push(Object(json).rows)
      cursor = pick(json, 'cursor')
      if (parts.length === 1) crm.deliveries.resend(crm.deliveries.list({ webhookId: id })[0]?.id ?? '')
    }
    expect(parts.map(({ length }) => length)).toEqual([2_000, 2_000, 501, 0])
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

  it('deliveries: tried again, before their time or by the manual retry', async () => {
    const crm = await start({ retryScale: 60_000 })
    let status = 500
    const receiver = await serve((request, response) => {
      request.resume()
      response.writeHead(status).end()
    })
    crm.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
    crm.events.emit({ type: 'sync.failed' })
    const path = `/_emulator/deliveries/${crm.deliveries.list()[0]?.id}`
    await crm.clock.advance(0)
    expect((await call(crm, `POST ${path}/retry`, { body: {} })).status).toBe(202)
    await crm.clock.advance(0)
    expect(crm.deliveries.list()[0]?.attempts).toHaveLength(2)
    await crm.clock.advance('1m')
    expect(crm.deliveries.list()[0]?.attempts).toHaveLength(5)
    status = 200
    expect(await call(crm, `POST ${path}/retry`, { body: {} })).toMatchObject({
      status: 202,
      json: { status: 'pending' },
    })
    await crm.clock.advance(0)
    expect(crm.deliveries.list().map((each) => each.status)).toEqual(['success'])
    expect((await call(crm, `POST ${path}/retry`, { body: {} })).status).toBe(409)
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

  it('bodies: up to 1 MiB, recorded and edited, however large the JSON around them is', async () => {
    const crm = await start()
    const receiver = await sink()
    crm.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
    const bodyOf = (size: number) => {
      const start = '{"type":"sync.failed","id":"evt_1","data":"'
      return `${start}${'\u007f'.repeat(size - start.length - 2)}"}`
    }
    const send = (body: string) =>
      call(crm, 'POST /_emulator/bodies', { body: { bodyBase64: Buffer.from(body).toString('base64') } })
    const [small, largest] = [bodyOf(800_000), bodyOf(2 ** 20)]
    for (const body of [small, largest]) expect((await send(body)).status).toBe(202)
    expect((await send(bodyOf(2 ** 20 + 1))).status).toBe(413)
    const path = `POST /_emulator/deliveries/${crm.deliveries.list()[0]?.id}/resend`
    const quotes = `{"a":"${'\n'.repeat(900_000)}"}`
    expect((await call(crm, path, { body: { body: quotes } })).status).toBe(202)
    expect((await call(crm, path, { body: { body: bodyOf(2 ** 20 + 1) } })).status).toBe(413)
    await crm.clock.advance(0)
    expect(
      receiver.received.map(
        ({ body }) => String(body) === small || String(body) === largest || String(body) === quotes,
      ),
    ).toEqual([true, true, true])
  })

  it('calls, types and samples', async () => {
    const crm = await start()
    await call(crm, 'GET /api/sales/contacts')
    expect((await call(crm, 'GET /_emulator/calls')).json).toMatchObject([
      { method: 'GET', path: '/api/sales/contacts', status: 401 },
    ])
    for (let n = 0; n < 500; n++) await call(crm, 'GET /api/other')
    const { json } = await call(crm, 'GET /_emulator/calls')
    expect([pick(json, 'length'), pick(json, 499, 'path')]).toEqual(['500', '/api/other'])
    crm.reset()
    expect((await call(crm, 'GET /_emulator/calls')).json).toEqual([])
    expect((await call(crm, 'GET /_emulator/samples/contact.created')).text).toContain('zoe@example.test')
    const types = (await call(crm, 'GET /_emulator/types')).json as string[] // as the page answers
    expect(types).toHaveLength(15)
    expect(types).toEqual(
      expect.arrayContaining(['contact.created', 'financeInvoice.deleted', 'finance.payment.failed']),
    )
  })

  it('signature: the steps of a delivery, without the secret', async () => {
    const crm = await start({ port: false })
    const { secret } = crm.webhooks.create({ url: 'http://127.0.0.1:1/', events: ['sync.failed'] })
    const [id] = crm.events.emit({ type: 'sync.failed' }).deliveries
    const { json, text } = await call(crm, `GET /_emulator/deliveries/${id}/signature`)
    const sent = [sign(crm.deliveries.get(id ?? '').bytes, secret)]
    expect(json).toMatchObject({ sent, isRight: true, secret: { length: secret.length } })
    expect(text).not.toContain(secret)
  })
})

it.each([
  ['a text', 500, {}, 'TypeError: no email\n    at run', '500 TypeError: no email'],
  ['a code', 401, {}, '{"code":"unauthorized"}', '401 unauthorized'],
  ['nothing', 404, {}, ' \n', '404'],
  [
    'a page of HTML',
    500,
    {},
    '<!DOCTYPE html>\n<html><head><title>Error</title>\n</head>\n<body>\n<pre>TypeError: no &#39;email&#39;<br> &nbsp; at run</pre>',
    "500 TypeError: no 'email'",
  ],
  ['a redirect', 308, { location: '/hooks/' }, '', '308 to /hooks/'],
])(
  'the reason of a delivery that was answered with %s is its first line',
  async (_what, status, headers, body, reason) => {
    const crm = await start()
    const { url } = await serve((_request, response) => response.writeHead(status, headers).end(body))
    crm.webhooks.create({ url, events: ['sync.failed'] })
    crm.events.emit({ type: 'sync.failed' })
    const rows = async () => Object((await call(crm, 'GET /_emulator/rows')).json).rows
    await expect.poll(async () => (await rows())[0].reason?.text).toBe(reason)
  },
)
