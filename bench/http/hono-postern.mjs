import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { fetchHandler } from '../../dist/web.js'
import { createPostern } from '../receivers/postern.mjs'

export function createListener(onEvent) {
  const webhooks = fetchHandler(createPostern(onEvent))
  const app = new Hono()
  app.post('/webhooks', (c) => webhooks(c.req.raw))
  return { server: createAdaptorServer(app) }
}
