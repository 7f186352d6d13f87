import { Hono } from 'hono'
import type { Service } from '../service.ts'
import type { Env } from './env.ts'
import { readObject } from './read-json.ts'

/** Creates the routes of records of any model, of the first account unless the query names another. Each change emits an event. */
export function createRecordRoutes({ accounts, records }: Service): Hono<Env> {
  const app = new Hono<Env>()
  const accountKeyOf = (accountKey: string | undefined) => accounts.get(accountKey).key

  app.get('/:model', (c) => {
    const key = accountKeyOf(c.req.query('accountKey'))
    return c.json(records.list(key, c.req.param('model')))
  })
  app.get('/:model/:id', (c) => {
    const key = accountKeyOf(c.req.query('accountKey'))
    return c.json(records.get(key, c.req.param('model'), c.req.param('id')))
  })
  app.post('/:model', async (c) => {
    const key = accountKeyOf(c.req.query('accountKey'))
    return c.json(records.create(key, c.req.param('model'), await readObject(c)), 201)
  })
  app.put('/:model/:id', async (c) => {
    const key = accountKeyOf(c.req.query('accountKey'))
    return c.json(records.update(key, c.req.param('model'), c.req.param('id'), await readObject(c)))
  })
  app.delete('/:model/:id', (c) => {
    const key = accountKeyOf(c.req.query('accountKey'))
    records.delete(key, c.req.param('model'), c.req.param('id'))
    return c.body(null, 204)
  })
  return app
}
