import { Hono } from 'hono'
import * as z from 'zod'
import { account as accountShape, eventFields } from '../check-input.ts'
import { CallLog } from '../inspector/call-log.ts'
import { createInspectorRoutes } from '../inspector/inspector-routes.ts'
import { deliveryFaults } from '../options.ts'
import { Refusal } from '../refusal.ts'
import type { Service } from '../service.ts'
import { createDeliveryRoutes } from './delivery-routes.ts'
import { describeClock, describeState } from './describe.ts'
import type { Env } from './env.ts'
import { readJson, readObject } from './read-json.ts'
import { createRecordRoutes } from './record-routes.ts'
import { createStreamRoute } from './stream-route.ts'

const move = z.union([
  z.strictObject({ advance: z.union([z.string(), z.number()]) }),
  z.strictObject({ next: z.literal(true) }),
])
const event = z.strictObject({
  ...eventFields,
  accountKey: z.string().optional(),
  count: z.number().int().min(1).max(1_000).default(1),
})
const fault = z.union([
  z.strictObject({
    answer: z.enum(['401', '429', '500', 'slow', 'reset']),
    count: z.number().int().min(1).max(1_000).default(1),
    delayMs: z.number().min(0).max(600_000).default(5_000),
  }),
  z.strictObject({ deliveries: deliveryFaults }),
])

/** Creates the control interface below `/_emulator`, which the real service does not have. */
export function createControlRoutes(service: Service, readyLine: () => object): Hono<Env> {
  const { clock, accounts, events, faults } = service
  const app = new Hono<Env>()
  const calls = new CallLog(service)

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

  app.post('/events', async (c) => {
    const { accountKey, count, ...input } = await readJson(c, event)
    return c.json({ events: events.emit(accounts.get(accountKey).key, input, count) }, 202)
  })

  app.post('/faults', async (c) => {
    const wanted = await readJson(c, fault)
    if ('deliveries' in wanted) faults.deliveries = wanted.deliveries
    else faults.addAnswer(wanted)
    return c.json({ answers: faults.answers, deliveries: faults.deliveries })
  })

  app.delete('/faults', (c) => {
    faults.clear()
    return c.json({ answers: faults.answers, deliveries: faults.deliveries })
  })

  app.route('/records', createRecordRoutes(service))
  app.route('/deliveries', createDeliveryRoutes(service))
  app.route('/stream', createStreamRoute(service, calls))
  app.route('/', createInspectorRoutes(service, calls))
  return app
}
