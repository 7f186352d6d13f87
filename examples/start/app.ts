import express from 'express'
import type { Receiver } from 'postern'
import { expressHandler } from 'postern/express'

/** An Express app that receives deliveries. The receiver reads the body itself, so its route comes before the JSON parser. */
export function buildApp(receiver: Pick<Receiver, 'handle'>) {
  const app = express()
  app.post('/webhooks', expressHandler(receiver))
  app.use(express.json())
  app.get('/health', (_request, response) => {
    response.json({ ok: true })
  })
  return app
}
