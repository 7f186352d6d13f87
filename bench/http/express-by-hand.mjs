import express from 'express'
import { HEADER, isSigned } from '../receivers/by-hand.mjs'

export function createListener(onEvent) {
  const app = express()
  app.post('/webhooks', express.raw({ type: '*/*', limit: '1mb' }), (request, response) => {
    if (!isSigned(request.body, request.headers[HEADER])) return response.status(401).json({ error: 'unauthorized' })
    onEvent(JSON.parse(request.body.toString()).data.record)
    response.status(200).json({ ok: true })
  })
  return app
}
