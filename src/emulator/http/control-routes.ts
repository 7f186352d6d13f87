import { Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import * as z from 'zod'
import type { FeedMessage } from '../feed.ts'
import { account as accountShape, deliveryFaults } from '../options.ts'
import { Refusal } from '../refusal.ts'
import type { Service } from '../service.ts'
import { describeClock, describeDelivery, describeState } from './describe.ts'
import type { Env } from './env.ts'
import { readJson, readObject } from './read-json.ts'

const move = z.union([
  z.strictObject({ advance: z.union([z.string(), z.number()]) }),
  z.strictObject({ next: z.literal(true) }),
])
const event = z.strictObject({
  type: z.string().min(1).max(256),
  data: z.unknown().optional(),
  accountKey: z.string().optional(),
  id: z.string().min(1).max(1_024).optional(),
  timestamp: z.string().max(100).optional(),
  count: z.number().int().min(1).max(1_000).default(1),
})
const resend = z.strictObject({
  body: z.string().optional(),
  sign: z.enum(['valid', 'none', 'wrong', 'stale-bytes']).optional(),
})
const faults = z.union([
  z.strictObject({
    answer: z.enum(['401', '429', '500', 'slow', 'reset']),
    count: z.number().int().min(1).max(1_000).default(1),
    delayMs: z.number().min(0).max(600_000).default(5_000),
  }),
  z.strictObject({ deliveries: deliveryFaults }),
])

const MAX_STREAMS = 64
const MAX_WAITING = 1_000
const MAX_LISTED = 500

/** What the service does not have: control of the emulator, below `/_emulator`. */
export function createControlRoutes(service: Service, readyLine: () => object): Hono<Env> {
  const { clock, accounts, records, events, deliveries, log } = service
  const app = new Hono<Env>()

  app.get('/ready', (c) => c.json(readyLine()))
  app.get('/state', (c) => c.json(describeState(service)))
  app.post('/reset', async (c) => {
    await readObject(c)
    service.reset()
    return c.json(describeState(service))
  })

  app.get('/clock', (c) => c.json(describeClock(service)))
  app.post('/clock', async (c) => {
    const wanted = await readJson(c, move)
    if (!clock.isManual)
      throw new Refusal('invalid', 'the clock cannot be moved: start the emulator with --clock manual')
    if ('next' in wanted) return c.json({ moved: await clock.next(), ...describeClock(service) })
    await clock.advance(wanted.advance)
    return c.json(describeClock(service))
  })

  app.post('/accounts', async (c) => {
    const { key, email } = accounts.add(await readJson(c, accountShape))
    return c.json({ key, email }, 201)
  })

  app.get('/records/:model', (c) => {
    const { key } = accounts.get(c.req.query('accountKey'))
    return c.json(records.list(key, c.req.param('model')))
  })
  app.get('/records/:model/:id', (c) => {
    const { key } = accounts.get(c.req.query('accountKey'))
    return c.json(records.get(key, c.req.param('model'), c.req.param('id')))
  })
  app.post('/records/:model', async (c) => {
    const { key } = accounts.get(c.req.query('accountKey'))
    return c.json(records.create(key, c.req.param('model'), await readObject(c)), 201)
  })
  app.put('/records/:model/:id', async (c) => {
    const { key } = accounts.get(c.req.query('accountKey'))
    return c.json(records.update(key, c.req.param('model'), c.req.param('id'), await readObject(c)))
  })
  app.delete('/records/:model/:id', (c) => {
    const { key } = accounts.get(c.req.query('accountKey'))
    records.delete(key, c.req.param('model'), c.req.param('id'))
    return c.body(null, 204)
  })

  app.post('/events', async (c) => {
    const { accountKey, count, ...input } = await readJson(c, event)
    return c.json({ events: events.emit(accounts.get(accountKey).key, input, count) }, 202)
  })

  app.get('/deliveries', (c) => {
    const webhookId = c.req.query('webhookId')
    const eventId = c.req.query('eventId')
    const all = log.list(webhookId).filter((delivery) => eventId === undefined || delivery.eventId === eventId)
    return c.json(all.slice(-MAX_LISTED).toReversed().map(describeDelivery))
  })
  app.get('/deliveries/:id', (c) => {
    const delivery = deliveries.get(c.req.param('id'))
    const bytes = Buffer.from(delivery.bytes)
    return c.json({ ...describeDelivery(delivery), body: { base64: bytes.toString('base64'), text: bytes.toString() } })
  })
  app.post('/deliveries/:id/resend', async (c) =>
    c.json(describeDelivery(deliveries.resend(c.req.param('id'), await readJson(c, resend))), 202),
  )

  app.post('/faults', async (c) => {
    const wanted = await readJson(c, faults)
    if ('deliveries' in wanted) service.faults.deliveries = wanted.deliveries
    else service.faults.addAnswer(wanted)
    return c.json({ answers: service.faults.answers, deliveries: service.faults.deliveries })
  })

  app.delete('/faults', (c) => {
    service.faults.clear()
    return c.json({ answers: service.faults.answers, deliveries: service.faults.deliveries })
  })

  let streams = 0
  app.get('/stream', (c) => {
    if (streams >= MAX_STREAMS) throw new Refusal('full', `the emulator has ${MAX_STREAMS} listeners already`)
    streams++
    return streamSSE(c, async (stream) => {
      const waiting: FeedMessage[] = []
      let wake = () => {}
      const stop = service.feed.subscribe((message) => {
        waiting.push(message)
        // Whoever reads too slowly is cut off, and asks for the state when it comes back.
        if (waiting.length > MAX_WAITING) stream.abort()
        wake()
      })
      stream.onAbort(() => wake())
      try {
        await stream.writeSSE({ event: 'ready', data: JSON.stringify({ bootId: service.bootId, now: clock.now() }) })
        while (!stream.aborted && !stream.closed) {
          const message = waiting.shift()
          if (message !== undefined)
            await stream.writeSSE({ event: message.type, data: JSON.stringify(describe(message)) })
          else
            await new Promise<void>((resolve) => {
              wake = resolve
            })
        }
      } finally {
        stop()
        streams--
      }
    })
  })
  return app

  function describe(message: FeedMessage): object {
    return 'delivery' in message ? { ...message, delivery: describeDelivery(message.delivery) } : message
  }
}
