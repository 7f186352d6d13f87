import { type Context, Hono } from 'hono'
import * as z from 'zod'
import { type Json, type Page, showDelivery, showList, showOne, showWebhook } from '../answers.ts'
import { checkInput, webhookChangeShape, webhookFields, webhookShape } from '../check-input.ts'
import { Refusal } from '../refusal.ts'
import type { Service } from '../service.ts'
import type { Webhook } from '../webhooks.ts'
import type { Env } from './env.ts'
import { readJson, readObject } from './read-json.ts'

const login = z.object({ email: z.string(), password: z.string() })

/** Creates the endpoints of the service text, section 4. */
export function createServiceRoutes(service: Service): Hono<Env> {
  const { tokens, accounts, records } = service
  const { assumed } = service.settings
  const app = new Hono<Env>()

  app.post('/identity/auth/login', async (c) => {
    const { email, password } = await readJson(c, login)
    const account = accounts.findByLogin(email, password)
    if (account === undefined) throw new Refusal('login-refused', 'the e-mail address or the password is wrong')
    return c.json(await tokens.issue(account))
  })

  app.get('/sales/contacts', (c) => {
    const contacts = records.list(c.var.account.key, 'contact')
    const page = pageOf(c, contacts, { style: 'pages', limit: 50 }, (contact) => contact)
    return c.json(showList('contacts', assumed.contactsBody, page))
  })

  app.route('/integrations/webhooks', createWebhookRoutes(service))
  return app
}

/** Creates the routes of the webhooks of the token's account, and of their logs. Service text, section 4. */
function createWebhookRoutes(service: Service): Hono<Env> {
  const { webhooks, engine } = service
  const { assumed } = service.settings
  const app = new Hono<Env>()

  app.post('/', async (c) => {
    const webhook = webhooks.create(c.var.account.key, await readJson(c, webhookShape))
    return c.json(showWebhook(webhook, assumed, { isNew: true }), assumed.creationStatus === '200' ? 200 : 201)
  })

  app.get('/', (c) => {
    const all = webhooks.list(c.var.account.key)
    const show = (webhook: Webhook) => showWebhook(webhook, assumed, { isNew: false })
    const page = pageOf(c, all, { style: assumed.webhookPaging, limit: 20 }, show)
    return c.json(showList('webhooks', assumed.listBody, page))
  })

  app.get('/:id', (c) => c.json(showOne(webhooks.get(c.var.account.key, c.req.param('id')), assumed)))

  app.put('/:id', async (c) => {
    const { key } = c.var.account
    const id = webhooks.get(key, c.req.param('id')).id
    const body = await readObject(c)
    if (assumed.updateFields === 'strict') mustBeFields(body)
    const changed = webhooks.update(key, id, checkInput(body, webhookChangeShape))
    if (changed.active) engine.resume()
    return c.json(showOne(changed, assumed))
  })

  app.delete('/:id', (c) => {
    const webhook = service.deleteWebhook(c.var.account.key, c.req.param('id'))
    const answer = assumed.deletionAnswer
    if (answer === 'object') return c.json(showWebhook(webhook, assumed, { isNew: false }))
    return answer === 'success' ? c.json({ success: true }) : c.body(null, answer === '204' ? 204 : 200)
  })

  addLogRoutes(app, service)
  return app
}

function addLogRoutes(app: Hono<Env>, { deliveries, settings: { assumed } }: Service): void {
  app.get('/:id/deliveries', (c) => {
    const all = deliveries.listOf(c.var.account.key, c.req.param('id'))
    const style = assumed.logPaging === 'newest' ? 'before' : 'none'
    const page = pageOf(c, all, { style, limit: 100 }, (delivery) => showDelivery(delivery, assumed))
    return c.json(showList('deliveries', assumed.listBody, page))
  })

  app.post('/:id/retry/:deliveryId', (c) => {
    const { id, deliveryId } = c.req.param()
    const delivery = deliveries.retry(c.var.account.key, id, deliveryId)
    const answer = assumed.retryAnswer
    if (answer === '202' || answer === '200')
      return c.json(showDelivery(delivery, assumed), answer === '202' ? 202 : 200)
    return answer === 'success' ? c.json({ success: true }) : c.body(null, answer === '204' ? 204 : 200)
  })
}

function mustBeFields(body: Readonly<Record<string, unknown>>): void {
  const stray = Object.keys(body).find((name) => !Object.hasOwn(webhookFields, name))
  if (stray !== undefined) throw new Refusal('bad-request', `there is no field ${JSON.stringify(stray)}`)
}

interface Paging {
  /** Style of the pages. `before`: the newest first, starting after the entry of a given id. */
  readonly style: 'none' | 'pages' | 'cursor' | 'before'
  /** Maximum number of items on a page; a request may ask for fewer. */
  readonly limit: number
}

const whole = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, 'must be a whole number from 1')
  .transform(Number)
const pagingQuery = z.object({
  limit: whole.optional(),
  page: whole.default(1),
  cursor: z
    .string()
    .regex(/^\d{1,9}$/, 'there is no such mark')
    .transform(Number)
    .default(0),
  before: z.string().optional(),
})

function pageOf<Item extends object>(
  context: Context<Env>,
  all: readonly Item[],
  { style, limit: most }: Paging,
  show: (item: Item) => Json,
): Page {
  const total = all.length
  if (style === 'none') return { items: all.map(show), total, page: 1, nextCursor: undefined }
  const { page, cursor, before, ...asked } = checkInput(context.req.query(), pagingQuery)
  const limit = Math.min(most, asked.limit ?? most)
  if (style === 'before') {
    const end = before === undefined ? total : all.findIndex((item) => 'id' in item && item.id === before)
    if (end < 0) throw new Refusal('invalid', 'before: there is no such entry in this log')
    const newestFirst = all.slice(Math.max(0, end - limit), end).toReversed()
    return { items: newestFirst.map(show), total, page, nextCursor: undefined }
  }
  const start = style === 'pages' ? (page - 1) * limit : cursor
  const end = start + limit
  const nextCursor = style === 'cursor' && end < total ? String(end) : undefined
  return { items: all.slice(start, end).map(show), total, page, nextCursor }
}
