import { Hono } from 'hono'
import * as z from 'zod'
import { showList } from '../answers.ts'
import { Refusal } from '../refusal.ts'
import type { Service } from '../service.ts'
import type { Env } from './env.ts'
import { pageOf } from './page.ts'
import { readJson } from './read-json.ts'
import { createWebhookRoutes } from './webhook-routes.ts'

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
