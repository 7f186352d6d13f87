import { describe, expect, it } from 'vitest'
import { clientOf, type Reply, serve } from './support.ts'

const URL_ = 'https://app.example.test/hooks'
const RAW = { _id: 'w1', url: URL_, events: ['contact.created'], active: false, createdAt: '2025-01-01T00:00:00.000Z' }
const WEBHOOK = {
  id: 'w1',
  url: URL_,
  events: ['contact.created'],
  active: false,
  description: undefined,
  createdAt: new Date('2025-01-01T00:00:00Z'),
  raw: RAW,
}

describe('a webhook', () => {
  it.each<[string, object, object]>([
    ['all fields', RAW, WEBHOOK],
    ['a number as id', { ...RAW, _id: 1 }, { id: '1' }],
    ['active as text', { ...RAW, active: 'true' }, { active: true }],
    ['active as text that says neither', { ...RAW, active: 'on' }, { active: undefined }],
    ['data of its own', { ...RAW, data: { color: 'red' } }, { id: 'w1', url: URL_ }],
    [
      'wrong types',
      { _id: 'w1', url: 5, events: 'all', active: 'maybe', createdAt: {} },
      { url: undefined, events: undefined, active: undefined, createdAt: undefined },
    ],
    [
      'names of the prototype',
      JSON.parse('{"_id":"w1","__proto__":{"active":true},"constructor":1}'),
      { active: undefined },
    ],
  ])('is read with %s', async (_what, body, expected) => {
    const service = await serve(() => ({ body }))
    expect(await clientOf(service).webhooks.get('w1')).toMatchObject(expected)
  })

  it.each<[string, Reply]>([
    ['nothing', { status: 204 }],
    ['a list', { body: [RAW] }],
    ['no id', { body: { url: URL_ } }],
  ])('is not read from %s', async (_what, reply) => {
    const service = await serve(() => reply)
    await expect(clientOf(service).webhooks.get('w1')).rejects.toMatchObject({ code: 'answer_unusable' })
  })
})

describe('a creation', () => {
  it.each<[string, object]>([
    ['bare', { ...RAW, secret: 'whsec_1' }],
    ['wrapped', { data: { ...RAW, secret: 'whsec_1' } }],
    ['with the secret beside it', { webhook: RAW, secret: 'whsec_1' }],
  ])('returns the webhook and its secret: %s', async (_form, body) => {
    const service = await serve(() => ({ status: 201, body }))
    const fields = { url: URL_, events: ['contact.created'], active: false }
    expect(await clientOf(service).webhooks.create(fields)).toEqual({ webhook: WEBHOOK, secret: 'whsec_1' })
    expect(JSON.parse(service.seen[1]?.body ?? '')).toEqual(fields)
  })

  it.each(['xxxxxxxx', '••••', '***4f1', ' ', null])('does not treat a mask as a secret: %j', async (secret) => {
    const service = await serve(() => ({ status: 201, body: { ...RAW, secret } }))
    const created = clientOf(service).webhooks.create({ url: URL_, events: ['contact.created'] })
    await expect(created).rejects.toMatchObject({ code: 'answer_unusable' })
  })
})

describe('an update', () => {
  const changed = { ...RAW, active: true }
  it.each<[string, Reply]>([
    ['nothing', { status: 204 }],
    ['the id alone', { body: { _id: 'w1' } }],
  ])("returns the service's new state: %s", async (_form, reply) => {
    const service = await serve(({ method }) => (method === 'PUT' ? reply : { body: changed }))
    expect(await clientOf(service).webhooks.resume('w1')).toEqual({ ...WEBHOOK, active: true, raw: changed })
    expect(service.seen[1]).toMatchObject({ method: 'PUT', body: '{"active":true}' })
  })

  it('sends the changes, and nothing else', async () => {
    const service = await serve(() => ({ body: RAW }))
    const { webhooks } = clientOf(service)
    await webhooks.pause('w1')
    await webhooks.update('w1', { url: URL_, events: ['contact.created'] })
    await webhooks.update('w1', { url: URL_ })
    await webhooks.update('w1', { events: ['contact.created'] })
    expect(service.seen.slice(1).map(({ body }) => body)).toEqual([
      '{"active":false}',
      `{"url":"${URL_}","events":["contact.created"]}`,
      `{"url":"${URL_}"}`,
      '{"events":["contact.created"]}',
    ])
    expect(new Set(service.calls)).toEqual(new Set(['PUT /api/integrations/webhooks/w1']))
  })
})

describe('a retry', () => {
  const entry = { _id: 'd1', status: 'pending' }
  it.each<[string, Reply, object]>([
    ['202 and the entry', { status: 202, body: entry }, { delivery: { id: 'd1', state: 'pending' } }],
    ['200 and the entry, wrapped', { body: { delivery: entry } }, { delivery: { id: 'd1' } }],
    ['204', { status: 204 }, { delivery: undefined }],
  ])('is accepted: %s', async (_form, reply, expected) => {
    const service = await serve(() => reply)
    expect(await clientOf(service).retry('w1', 'd1')).toMatchObject(expected)
    expect(service.seen[1]).toMatchObject({ method: 'POST', path: '/api/integrations/webhooks/w1/retry/d1', body: '' })
  })

  it.each([400, 409, 422])('of what has not failed, answered with %d, is not_retriable', async (status) => {
    const serviceMessage = 'it has not failed'
    const service = await serve(() => ({ status, body: { message: serviceMessage } }))
    const refused = { code: 'not_retriable', status, serviceMessage }
    await expect(clientOf(service).retry('w1', 'd1')).rejects.toMatchObject(refused)
  })
})
