import { Hono, type MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import * as z from 'zod'
import { findLikeType } from '../../../src/protocol/find-meant-type.ts'
import { tellKnown } from '../../../src/protocol/option-checker.ts'
import { account as accountShape, eventFields, must, signingShape } from '../check-input.ts'
import type { DeliveryDetail } from '../contract.ts'
import { createHandles, type Handles } from '../handles.ts'
import { CallLog } from '../inspector/batches.ts'
import { createInspectorRoutes } from '../inspector/inspector-routes.ts'
import { answerFault, deliveryFaults } from '../options.ts'
import { Refusal } from '../refusal.ts'
import type { Service } from '../service.ts'
import { describeBody, describeClock, describeDelivery, describeFaults, describeState } from './describe.ts'
import type { Env } from './env.ts'
import { ENVELOPE_BYTES, mustBeBody, readJson, readObject } from './read-json.ts'
import { createStreamRoute } from './stream-route.ts'

const LENGTH = must('a duration, such as "30s"')
const move = z.union(
  [z.strictObject({ advance: z.union([z.string(), z.number()], LENGTH) }), z.strictObject({ next: z.literal(true) })],
  'must be { "advance": "30s" } or { "next": true }',
)
const event = z.strictObject({
  ...eventFields,
  accountKey: z.string().optional(),
  count: z.number().int().min(1).max(1_000).default(1),
})
const fault = z.union(
  [answerFault, z.strictObject({ deliveries: deliveryFaults })],
  'must be { "answer": "429", "count": 1 } or { "deliveries": { "fail": 0.2 } }',
)
const resend = z.strictObject({ body: z.string().optional(), sign: signingShape })

const MAX_LISTED = 500

/** Queries of the routes whose method does not check them itself; of the others there are none. */
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  'GET /rows': ['limit', 'before'],
  'GET /search': ['text', 'after'],
  'GET /changes': ['after'],
}
const CHECKED = /^(GET \/deliveries|\w+ \/records\/.*)$/

/** Routes that take no fields. Those of POST take an empty object, which no page of another origin can send. */
const BARE = /^(DELETE .*|POST \/(reset|deliveries\/:id\/(stop|retry)|webhooks\/:id\/secret))$/

/** Refuses a query, and the fields of a body, that the route would ignore. */
const guardInput: MiddlewareHandler<Env> = async (c, next) => {
  const { method, path } = matchedRoutes(c).findLast(({ method }) => method !== 'ALL') ?? {}
  const route = `${method} ${path?.replace('/_emulator', '')}`
  const known = QUERIES[route] ?? []
  const stray = Object.keys(c.req.query()).find((name) => !known.includes(name))
  if (stray !== undefined && path !== undefined && !CHECKED.test(route)) {
    const fix = method === 'GET' ? tellKnown(stray, known) : 'The fields go into the JSON of the body.'
    throw new Refusal('invalid', `there is no query "${stray}". ${fix}`)
  }
  if (BARE.test(route)) await readJson(c, z.strictObject({}))
  await next()
}

/** Creates the control interface below `/_emulator`, which the real service does not have. */
export function createControlRoutes(service: Service, readyLine: () => object): Hono<Env> {
  const { clock, accounts, faults } = service
  const handles = createHandles(service)
  const app = new Hono<Env>()
  const calls = new CallLog(service)

  app.use(guardInput)
  app.get('/ready', (c) => c.json(readyLine()))
  app.get('/state', (c) => c.json(describeState(service)))
  app.post('/reset', (c) => {
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
    const { count, ...input } = await readJson(c, event)
    const events = handles.events.emitMany(input, count)
    const meant = events.some(({ deliveries }) => deliveries.length > 0) ? undefined : findLikeType(input.type)
    return c.json({ events, ...(meant !== undefined && { warning: `did you mean ${meant}?` }) }, 202)
  })

  app.post('/faults', async (c) => {
    const wanted = await readJson(c, fault)
    if ('deliveries' in wanted) faults.deliveries = wanted.deliveries
    else faults.addAnswer(wanted)
    return c.json(describeFaults(service))
  })

  app.delete('/faults', (c) => {
    faults.clear()
    return c.json(describeFaults(service))
  })

  addRecordRoutes(app, handles)
  addDeliveryRoutes(app, handles, service)
  app.route('/stream', createStreamRoute(service))
  app.route('/', createInspectorRoutes(service, handles, calls))
  return app
}

/** Adds the routes of records of any model, of the first account unless the query names another. Each change emits an event. */
function addRecordRoutes(app: Hono<Env>, { records }: Handles): void {
  app.get('/records/:model', (c) => c.json(records.list(c.req.param('model'), c.req.query())))
  app.post('/records/:model', async (c) => {
    const fields = await readObject(c)
    return c.json(records.create(c.req.param('model'), fields, c.req.query()), 201)
  })
  const path = '/records/:model/:id'
  app.get(path, (c) => c.json(records.get(c.req.param('model'), c.req.param('id'), c.req.query())))
  app.put(path, async (c) => {
    const fields = await readObject(c)
    return c.json(records.update(c.req.param('model'), c.req.param('id'), fields, c.req.query()))
  })
  app.delete(path, (c) => {
    records.delete(c.req.param('model'), c.req.param('id'), c.req.query())
    return c.body(null, 204)
  })
}

function addDeliveryRoutes(app: Hono<Env>, handles: Handles, { deliveries }: Service): void {
  app.get('/deliveries', (c) => {
    const all = handles.deliveries.list(c.req.query())
    return c.json(all.slice(-MAX_LISTED).toReversed().map(describeDelivery))
  })
  app.get('/deliveries/:id', (c) => {
    const delivery = deliveries.get(c.req.param('id'))
    return c.json({ ...describeDelivery(delivery), body: describeBody(delivery) } satisfies DeliveryDetail)
  })
  app.post('/deliveries/:id/resend', async (c) => {
    const options = await readJson(c, resend, ENVELOPE_BYTES)
    mustBeBody(options.body ?? '')
    return c.json(describeDelivery(deliveries.resend(c.req.param('id'), options)), 202)
  })
}
