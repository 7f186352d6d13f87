import express from 'express'
import type { Receiver } from 'postern'
import { captureRawBody, expressHandler } from 'postern/express'

/** As it should be: the receiver stands above the JSON parser, which then serves the rest of the app. */
export function buildApp(receiver: Pick<Receiver, 'handle'>) {
  const app = express()
  app.post('/webhooks', expressHandler(receiver))
  app.use(express.json())
  app.get('/health', (_request, response) => {
    response.json({ ok: true })
  })
  return app
}

/** The usual mistake: the parser comes first, and the exact bytes are gone before the receiver sees them. */
export function buildAppWithParserInFront(receiver: Pick<Receiver, 'handle'>) {
  const app = express()
  app.use(express.json())
  app.post('/webhooks', expressHandler(receiver))
  return app
}

/** The way out where the parser has to come first: it keeps the bytes. */
export function buildAppThatKeepsBytes(receiver: Pick<Receiver, 'handle'>) {
  const app = express()
  app.use(express.json({ verify: captureRawBody }))
  app.post('/webhooks', expressHandler(receiver))
  return app
}
