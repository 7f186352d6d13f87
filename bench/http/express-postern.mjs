import express from 'express'
import { expressHandler } from '../../dist/express.js'
import { createReceiver } from '../../dist/index.js'
import { SECRET } from '../deliveries.mjs'

export function createListener(onEvent) {
  const app = express()
  app.post(
    '/webhooks',
    expressHandler(createReceiver({ secret: SECRET }).on('contact.created', (event) => onEvent(event.data.record))),
  )
  return app
}
