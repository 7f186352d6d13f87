import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { call, pick, start } from './support.ts'

const NOW = '2026-01-01T00:00:00.000Z'
const FIELDS = { url: 'http://localhost/', events: ['a.b'], active: false }

/** An emulator without a port, whose webhook is paused and keeps its deliveries. */
async function scene(options: object = {}) {
  const crm = await start({ port: false, clock: manualClock(NOW), assume: { A31: 'kept' }, ...options })
  const { id: webhookId } = crm.webhooks.create(FIELDS)
  const ask = (line: string, body?: unknown) => {
    const [method, path] = line.split(' ')
    return call(crm, `${method} /_emulator/${path}`, { body })
  }
  return { crm, webhookId, ask }
}

const NO_FAULTS = { fail: 0, duplicate: 0, shuffle: false }

describe('the control interface, without a port', () => {
  it('is ready at the URL of the emulator', async () => {
    const { ask, crm } = await scene()
    expect(await ask('GET ready')).toMatchObject({ status: 200, json: { type: 'ready', url: crm.url } })
  })

  it('describes the whole state', async () => {
    const { ask, crm, webhookId } = await scene({ dialect: 'hostile', assume: { A31: 'kept' } })
    crm.records.create('contact')
    crm.events.emit({ type: 'a.b' })
    const { json } = await ask('GET state')
    expect(json).toEqual({
      bootId: expect.stringMatching(/^[0-9a-f]{16}$/),
      clock: { isManual: true, now: NOW, nextDueAt: null, inFlight: 0 },
      accounts: [
        { key: 'acme', email: 'ada@acme.test' },
        { key: 'globex', email: 'gus@globex.test' },
      ],
      webhooks: [{ id: webhookId, accountKey: 'acme', ...FIELDS, createdAt: NOW }],
      counts: { records: 1, deliveries: 1, pending: 1 },
      faults: { answers: [], deliveries: NO_FAULTS },
      settings: {
        retryScale: 1,
        deadlineMs: 10_000,
        signatureHeader: 'X-Service-Signature',
        dialect: 'hostile',
      },
      assumed: expect.objectContaining({ listBody: 'docs', eventsWhilePaused: 'kept' }),
      hasInbox: false,
    })
  })

  it('resets everything, and describes what is left', async () => {
    const { ask, crm } = await scene()
    crm.events.emit({ type: 'a.b' })
    expect(await ask('POST reset', {})).toMatchObject({
      status: 200,
      json: { webhooks: [], counts: { deliveries: 0 } },
    })
    crm.webhooks.create(FIELDS)
    expect((await ask('POST reset', [])).status).toBe(422)
    expect(crm.webhooks.list()).toHaveLength(1)
  })

  it('moves the clock, and describes it', async () => {
    const { ask } = await scene()
    const clock = { isManual: true, nextDueAt: null, inFlight: 0 }
    expect((await ask('GET clock')).json).toEqual({ ...clock, now: NOW })
    expect((await ask('POST clock', { advance: '1h' })).json).toEqual({ ...clock, now: '2026-01-01T01:00:00.000Z' })
    expect((await ask('POST clock', { next: true })).json).toEqual({
      ...clock,
      moved: false,
      now: '2026-01-01T01:00:00.000Z',
    })
    expect(await ask('POST clock', { advance: 'soon' })).toMatchObject({ status: 422 })
    for (const body of [{}, { next: false }, { advance: 1, next: true }, { advance: null }, { advance: 1, by: 2 }])
      expect((await ask('POST clock', body)).status).toBe(422)
  })

  it('refuses to move a real clock', async () => {
    const { ask } = await scene({ clock: undefined })
    const { status, json } = await ask('POST clock', { advance: 0 })
    expect([status, pick(json, 'message')]).toEqual([422, expect.stringContaining('--clock manual')])
    expect((await ask('GET clock')).json).toMatchObject({ isManual: false })
  })

  it('adds an account, and does not answer with its password', async () => {
    const { ask, crm } = await scene()
    const account = { key: 'third', email: 'third@test', password: 'pw' }
    const { status, json } = await ask('POST accounts', account)
    expect([status, json, crm.accounts.list().at(-1)]).toEqual([201, { key: 'third', email: 'third@test' }, account])
    expect((await ask('POST accounts', account)).status).toBe(409)
    expect((await ask('POST accounts', { key: 'fourth' })).status).toBe(422)
  })

  it('emits events for an account', async () => {
    const { ask, crm } = await scene()
    crm.webhooks.create(FIELDS, { accountKey: 'globex' })
    const { status, json } = await ask('POST events', { type: 'a.b', accountKey: 'globex' })
    const [delivery] = crm.deliveries.list()
    expect(delivery?.accountKey).toBe('globex')
    expect([status, json]).toEqual([
      202,
      { events: [{ id: delivery?.eventId, type: 'a.b', deliveries: [delivery?.id] }] },
    ])
    expect((await ask('POST events', { type: 'a.b', id: 'x', count: 1_000 })).status).toBe(202)
    expect(crm.deliveries.list({ eventId: 'x' })).toHaveLength(1_000)
    for (const wrong of [{ count: 0 }, { count: 1_001 }, { count: 1.5 }, { type: '' }, { stray: 1 }, { accountKey: 7 }])
      expect((await ask('POST events', { type: 'a.b', ...wrong })).status).toBe(422)
    expect((await ask('POST events', { type: 'a.b', accountKey: 'nobody' })).status).toBe(404)
    expect(crm.deliveries.list()).toHaveLength(1_001)
  })

  it('requests faults, and describes them', async () => {
    const { ask } = await scene({ faults: { duplicate: 1 } })
    const atStart = { ...NO_FAULTS, duplicate: 1 }
    const answers = [{ answer: 'slow', count: 1, delayMs: 5_000 }]
    expect((await ask('POST faults', { answer: 'slow' })).json).toEqual({ answers, deliveries: atStart })
    const longest = { answer: '500', count: 1_000, delayMs: 600_000 }
    expect((await ask('POST faults', longest)).json).toEqual({ answers: [...answers, longest], deliveries: atStart })
    expect((await ask('POST faults', { deliveries: { fail: 1, latency: '1s' } })).json).toEqual({
      answers: [...answers, longest],
      deliveries: { ...NO_FAULTS, fail: 1, latencyMs: [1_000, 1_000] },
    })
    for (const wrong of [
      ...[
        { answer: '404' },
        { answer: '500', count: 0 },
        { answer: '500', count: 1_001 },
        { answer: '500', count: 1.5 },
      ],
      ...[{ answer: 'slow', delayMs: -1 }, { answer: 'slow', delayMs: 600_001 }, { answer: '500', stray: 1 }, {}],
      ...[{ deliveries: { fail: 2 } }, { deliveries: { stray: 1 } }, { deliveries: {}, answer: '500' }],
    ])
      expect((await ask('POST faults', wrong)).status).toBe(422)
    expect((await ask('POST faults', { answer: '401', delayMs: 0 })).status).toBe(200)
    expect((await ask('DELETE faults')).json).toEqual({ answers: [], deliveries: atStart })
  })

  it('lists, reads, creates, changes and deletes records of the first account, or of the named one', async () => {
    const { ask } = await scene()
    for (const [query, name] of [
      ['', 'one'],
      ['?accountKey=globex', 'two'],
    ]) {
      const made = await ask(`POST records/deal${query}`, { _id: 'x', name })
      expect([made.status, made.json]).toEqual([201, { _id: 'x', name }])
      expect((await ask(`GET records/deal${query}`)).json).toEqual([{ _id: 'x', name }])
      expect((await ask(`GET records/deal/x${query}`)).json).toEqual({ _id: 'x', name })
      expect((await ask(`PUT records/deal/x${query}`, { size: 1 })).json).toEqual({ _id: 'x', name, size: 1 })
    }
    expect(await ask('DELETE records/deal/x?accountKey=globex')).toMatchObject({ status: 204, text: '' })
    expect((await ask('GET records/deal/x?accountKey=globex')).status).toBe(404)
    expect((await ask('GET records/deal/x')).status).toBe(200)
    for (const line of ['GET records/deal', 'GET records/deal/x', 'DELETE records/deal/x'])
      expect((await ask(`${line}?accountKey=nobody`)).status).toBe(404)
    for (const line of ['POST records/deal', 'PUT records/deal/x'])
      expect((await ask(`${line}?accountKey=nobody`, {})).status).toBe(404)
  })
})

describe('the deliveries of the control interface', () => {
  it('are listed with the newest first, of one webhook or one event, and at most 500', async () => {
    const { ask, crm, webhookId } = await scene()
    const other = crm.webhooks.create({ ...FIELDS, events: ['b.c'] }).id
    crm.events.emitMany({ type: 'a.b', id: 'first' }, 2)
    crm.events.emitMany({ type: 'a.b' }, 499)
    crm.events.emit({ type: 'b.c' })
    const ids = crm.deliveries.list().map(({ id }) => id)
    const read = async (query = '') => {
      const { json } = await ask(`GET deliveries${query}`)
      return (Array.isArray(json) ? json : []).map((each) => pick(each, 'id'))
    }
    expect(await read()).toEqual(ids.slice(2).toReversed())
    expect(await read(`?webhookId=${other}`)).toEqual(ids.slice(-1))
    expect(await read(`?webhookId=${webhookId}&eventId=first`)).toEqual(ids.slice(0, 2).toReversed())
    expect(await read('?eventId=first')).toEqual(ids.slice(0, 2).toReversed())
    expect([await read('?eventId=x'), await read('?webhookId=x')]).toEqual([[], []])
  })

  it('are described with their body', async () => {
    const { ask, crm, webhookId } = await scene()
    crm.events.emit({ type: 'a.b', id: 'x', data: { name: 'Zoë' } })
    const [delivery] = crm.deliveries.list()
    const { json } = await ask(`GET deliveries/${delivery?.id}`)
    const text = Buffer.from(delivery?.bytes ?? []).toString()
    expect(json).toEqual({
      id: delivery?.id,
      accountKey: 'acme',
      webhookId,
      eventId: 'x',
      eventType: 'a.b',
      status: 'pending',
      isInFlight: false,
      signing: 'valid',
      createdAt: NOW,
      nextAttemptAt: NOW,
      attempts: [],
      body: { base64: Buffer.from(text).toString('base64'), text },
    })
    expect((await ask('GET deliveries/x')).status).toBe(404)
  })

  it('are resent', async () => {
    const { ask, crm } = await scene()
    const [id] = crm.events.emit({ type: 'a.b' }).deliveries
    const once = await ask(`POST deliveries/${id}/resend`, { body: 'edited', sign: 'stale-bytes' })
    expect([once.status, once.json]).toEqual([202, expect.objectContaining({ resendOf: id, signing: 'stale-bytes' })])
    const resent = crm.deliveries.get(pick(once.json, 'id'))
    expect(Buffer.from(resent.bytes).toString()).toBe('edited')
    for (const wrong of [{ sign: 'twice' }, { body: 7 }, { stray: 1 }])
      expect((await ask(`POST deliveries/${id}/resend`, wrong)).status).toBe(422)
    expect(crm.deliveries.list()).toHaveLength(2)
  })

  it('are described with their attempts, in whole milliseconds, and the reason of their end', async () => {
    const { ask, crm } = await scene({ assume: { A33: 'kept' } })
    const { id: webhookId } = crm.webhooks.create({
      ...FIELDS,
      events: ['b.c'],
      url: 'http://127.0.0.1:1/',
      active: true,
    })
    const [id] = crm.events.emit({ type: 'b.c' }).deliveries
    await crm.clock.advance(0)
    crm.webhooks.delete(webhookId)
    const { json } = await ask(`GET deliveries/${id}`)
    expect(json).toMatchObject({
      status: 'failed',
      note: 'the webhook was deleted',
      nextAttemptAt: null,
      attempts: [{ number: 1, at: NOW, failure: 'refused' }],
    })
    expect(pick(json, 'attempts', 0, 'durationMs')).toMatch(/^\d+$/)
  })
})
