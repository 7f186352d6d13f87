import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { HEADER, isSigned } from '../receivers/by-hand.mjs'

export function createListener(onEvent) {
  const app = new Hono()
  app.post('/webhooks', async (c) => {
    const body = Buffer.from(await c.req.arrayBuffer())
    if (!isSigned(body, c.req.header(HEADER))) return c.json({ error: 'unauthorized' }, 401)
    onEvent(JSON.parse(body.toString()).data.record)
    return c.json({ ok: true })
  })
  return { server: createAdaptorServer(app) }
}
