import { Hono } from 'hono'
import * as z from 'zod'
import { ACTIONS, SERVICE_EVENT_TYPES } from '../../../src/protocol/events.ts'
import { readEvent } from '../answers.ts'
import { must, webhookFields } from '../check-input.ts'
import type { Found, RowPage } from '../contract.ts'
import type { Handles } from '../handles.ts'
import {
  describeBody,
  describeDelivery,
  describeRow,
  describeState,
  describeWebhook,
  writeTime,
} from '../http/describe.ts'
import type { Env } from '../http/env.ts'
import { ENVELOPE_BYTES, mustBeBody, readJson, readObject } from '../http/read-json.ts'
import { Refusal } from '../refusal.ts'
import type { Service } from '../service.ts'
import { type CallLog, readBatch, writeCursor } from './batches.ts'
import { COPIES } from './copies.ts'
import { explainSignature } from './explain-signature.ts'

const MOST_ROWS = 10_000
const MODELS = ['contact', 'opportunity', 'financeInvoice']
const TYPES = [...MODELS.flatMap((model) => ACTIONS.map((action) => `${model}.${action}`)), ...SERVICE_EVENT_TYPES]
const registration = z.strictObject({ ...webhookFields, accountKey: z.string().optional() })
const accountKey = z.string().optional()
const recorded = z.union(
  [
    z.strictObject({ body: z.string(must('a string, or base64 as bodyBase64')), accountKey }),
    z.strictObject({ bodyBase64: z.base64(must('base64')), accountKey }),
  ],
  'must be { "body": "…" } or { "bodyBase64": "…" }',
)

/** Routes of the control interface that the page needs beside those that programs use. */
export function createInspectorRoutes(service: Service, handles: Handles, calls: CallLog): Hono<Env> {
  const { deliveries, events, settings, standings, webhooks } = service
  const app = new Hono<Env>()

  app.get('/rows', async (c) => {
    await standings?.refresh()
    const [limit = MOST_ROWS, before = Number.POSITIVE_INFINITY] = ['limit', 'before'].map(
      (name) => Number(c.req.query(name)) || undefined,
    )
    return c.json(listRows(service, calls, limit, before))
  })
  app.get('/rows/:id', (c) => c.json(describeRow(service, deliveries.get(c.req.param('id')))))
  app.get('/search', (c) => c.json(search(service, c.req.query('text') ?? '', Number(c.req.query('after')) || 0)))
  app.get('/changes', async (c) => {
    await standings?.refresh()
    return c.json(readBatch(service, calls, c.req.query('after') ?? writeCursor(service, calls)))
  })
  app.get('/calls', (c) => c.json(calls.list()))
  app.get('/types', (c) => c.json(TYPES))
  app.get('/samples/:type', (c) => c.json({ data: events.sampleOf(c.req.param('type')) }))

  app.post('/bodies', async (c) => {
    const { accountKey, ...given } = await readJson(c, recorded, ENVELOPE_BYTES)
    const bytes = 'body' in given ? Buffer.from(given.body) : Buffer.from(given.bodyBase64, 'base64')
    mustBeBody(bytes)
    const named = Object(readEvent({ bytes })).accountKey
    const known = service.accounts.list().find(({ key }) => key === named)?.key
    return c.json(events.deliver(service.accounts.get(accountKey ?? known).key, bytes), 202)
  })
  app.get('/deliveries/:id/signature', (c) => {
    const delivery = deliveries.get(c.req.param('id'))
    return c.json(explainSignature(delivery, webhooks.find(delivery.webhookId), settings))
  })
  app.get('/deliveries/:id/copies/:form', (c) => {
    const form = c.req.param('form')
    const write = Object.hasOwn(COPIES, form) ? COPIES[form] : undefined
    if (write === undefined) throw new Refusal('unknown', 'there is no such form of a copy')
    const delivery = deliveries.get(c.req.param('id'))
    const { eventId, eventType, attempts, webhookId } = delivery
    const webhook = webhooks.find(webhookId)
    const steps = explainSignature(delivery, webhook, settings)
    const url = attempts.at(-1)?.url ?? webhook?.url ?? ''
    return c.json({ text: write({ ...steps, eventId, eventType, body: describeBody(delivery), url }) })
  })
  app.post('/deliveries/:id/stop', (c) => {
    const delivery = deliveries.get(c.req.param('id'))
    if (delivery.status !== 'pending' || delivery.isInFlight)
      throw new Refusal('not-failed', 'the delivery is being sent, or no attempt of it is to come')
    service.engine.abandon(delivery, 'stopped by hand')
    return c.json(describeDelivery(delivery))
  })
  app.post('/deliveries/:id/retry', (c) => c.json(describeDelivery(deliveries.tryAgain(c.req.param('id'))), 202))

  app.post('/webhooks', async (c) => {
    const { accountKey, ...fields } = await readJson(c, registration)
    return c.json(describeWebhook(handles.webhooks.create(fields, { accountKey })), 201)
  })
  app.put('/webhooks/:id', async (c) =>
    c.json(describeWebhook(handles.webhooks.update(c.req.param('id'), await readObject(c)))),
  )
  app.delete('/webhooks/:id', (c) => {
    handles.webhooks.delete(c.req.param('id'))
    return c.body(null, 204)
  })
  app.post('/webhooks/:id/secret', (c) => {
    c.header('cache-control', 'no-store')
    return c.json({ secret: handles.webhooks.get(c.req.param('id')).secret })
  })
  return app
}

/** Everything that the page shows at its start, with the position after which it asks for changes. @param before lists only deliveries that were created before that number */
function listRows(service: Service, calls: CallLog, limit: number, before: number): RowPage {
  const { log, clock } = service
  return {
    cursor: writeCursor(service, calls),
    now: writeTime(clock.now()),
    state: describeState(service),
    total: log.size,
    rows: log
      .list()
      .filter(({ made }) => made < before)
      .slice(-Math.min(limit, MOST_ROWS))
      .toReversed()
      .map((delivery) => describeRow(service, delivery)),
  }
}

/** Lists the deliveries that changed after a change, and of which the body or an answer has a text in any case. */
function search({ log }: Service, text: string, after: number): Found {
  const wanted = text.toLowerCase()
  const has = (part: string) => part.toLowerCase().includes(wanted)
  const found = (log.listChanges(after) ?? log.list()).filter(
    ({ bytes, attempts }) =>
      has(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()) ||
      attempts.some(({ responseBody }) => has(responseBody)),
  )
  return { ids: found.map(({ id }) => id), change: log.lastChange }
}
