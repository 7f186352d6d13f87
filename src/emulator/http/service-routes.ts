import { Hono } from 'hono'
import * as z from 'zod'
import { showDelivery, showList, showOne, showWebhook } from '../answers.ts'
import { Refusal } from '../refusal.ts'
import type { Service } from '../service.ts'
import type { Webhook } from '../webhooks.ts'
import type { Env } from './env.ts'
import { pageOf } from './page.ts'
import { check, readJson, readObject } from './read-json.ts'

const login = z.object({ email: z.string(), password: z.string() })

const fields = {
  url: z.string(),
  events: z.array(z.string().min(1).max(256)).max(200),
  description: z.string().max(1_000).optional(),
  active: z.boolean().optional(),
}
const creation = z.object(fields)
const change = z.object(fields).partial()

function mustBeFields(body: Readonly<Record<string, unknown>>): void {
  const stray = Object.keys(body).find((name) => !Object.hasOwn(fields, name))
  if (stray !== undefined) throw new Refusal('bad-request', `there is no field ${JSON.stringify(stray)}`)
}

/** The endpoints of the service text, section 4. */
export function createServiceRoutes(service: Service): Hono<Env> {
  const { settings, tokens, accounts, records, webhooks, deliveries } = service
  const { assumed } = settings
  const app = new Hono<Env>()

  app.post('/api/identity/auth/login', async (c) => {
    const { email, password } = await readJson(c, login)
    const account = accounts.findByLogin(email, password)
    if (account === undefined) throw new Refusal('login-refused', 'the e-mail address or the password is wrong')
    return c.json(await tokens.issue(account))
  })

  app.get('/api/sales/contacts', (c) => {
    const contacts = records.list(c.var.account.key, 'contact')
    return c.json(
      showList(
        'contacts',
        assumed.A16,
        pageOf(c, contacts, { style: 'pages', limit: 50 }, (contact) => contact),
      ),
    )
  })

  app.post('/api/integrations/webhooks', async (c) => {
    const webhook = webhooks.create(c.var.account.key, await readJson(c, creation))
    return c.json(showWebhook(webhook, assumed, { isNew: true }), assumed.A02 === '200' ? 200 : 201)
  })

  app.get('/api/integrations/webhooks', (c) => {
    const all = webhooks.list(c.var.account.key)
    const show = (webhook: Webhook) => showWebhook(webhook, assumed, { isNew: false })
    return c.json(showList('webhooks', assumed.A04, pageOf(c, all, { style: assumed.A08, limit: 20 }, show)))
  })

  app.get('/api/integrations/webhooks/:id', (c) =>
    c.json(showOne(webhooks.get(c.var.account.key, c.req.param('id')), assumed)),
  )

  app.put('/api/integrations/webhooks/:id', async (c) => {
    const { key } = c.var.account
    const id = webhooks.get(key, c.req.param('id')).id
    const body = await readObject(c)
    if (assumed.A07 === 'strict') mustBeFields(body)
    const changed = webhooks.update(key, id, check(body, change))
    if (changed.active) service.engine.resume()
    return c.json(showOne(changed, assumed))
  })

  app.delete('/api/integrations/webhooks/:id', (c) => {
    const webhook = service.deleteWebhook(c.var.account.key, c.req.param('id'))
    switch (assumed.A06) {
      case '204':
        return c.body(null, 204)
      case '200':
        return c.body(null, 200)
      case 'success':
        return c.json({ success: true })
      case 'object':
        return c.json(showWebhook(webhook, assumed, { isNew: false }))
    }
  })

  app.get('/api/integrations/webhooks/:id/deliveries', (c) => {
    const all = deliveries.listOf(c.var.account.key, c.req.param('id'))
    const style = assumed.A11 === 'newest' ? 'before' : 'none'
    const page = pageOf(c, all, { style, limit: 100 }, (delivery) => showDelivery(delivery, assumed))
    return c.json(showList('deliveries', assumed.A04, page))
  })

  app.post('/api/integrations/webhooks/:id/retry/:deliveryId', (c) => {
    const { id, deliveryId } = c.req.param()
    const delivery = deliveries.retry(c.var.account.key, id, deliveryId)
    switch (assumed.A12) {
      case '202':
        return c.json(showDelivery(delivery, assumed), 202)
      case '200':
        return c.json(showDelivery(delivery, assumed))
      case '204':
        return c.body(null, 204)
      case 'empty':
        return c.body(null, 200)
      case 'success':
        return c.json({ success: true })
    }
  })
  return app
}
