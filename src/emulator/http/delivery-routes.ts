import { Hono } from 'hono'
import * as z from 'zod'
import { signingShape } from '../check-input.ts'
import type { Service } from '../service.ts'
import { describeDelivery } from './describe.ts'
import type { Env } from './env.ts'
import { readJson } from './read-json.ts'

const resend = z.strictObject({
  body: z.string().optional(),
  sign: signingShape,
  count: z.number().int().min(1).max(1_000).optional(),
})

const MAX_LISTED = 500

/** Creates the routes of the deliveries of all accounts, with their bodies. */
export function createDeliveryRoutes({ deliveries, log }: Service): Hono<Env> {
  const app = new Hono<Env>()

  app.get('/', (c) => {
    const webhookId = c.req.query('webhookId')
    const eventId = c.req.query('eventId')
    const all = log.list(webhookId).filter((delivery) => eventId === undefined || delivery.eventId === eventId)
    return c.json(all.slice(-MAX_LISTED).toReversed().map(describeDelivery))
  })
  app.get('/:id', (c) => {
    const delivery = deliveries.get(c.req.param('id'))
    const bytes = Buffer.from(delivery.bytes)
    return c.json({ ...describeDelivery(delivery), body: { base64: bytes.toString('base64'), text: bytes.toString() } })
  })
  app.post('/:id/resend', async (c) => {
    const { count, ...options } = await readJson(c, resend)
    const resendOne = () => describeDelivery(deliveries.resend(c.req.param('id'), options))
    return c.json(count === undefined ? resendOne() : Array.from({ length: count }, resendOne), 202)
  })
  return app
}
