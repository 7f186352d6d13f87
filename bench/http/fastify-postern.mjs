import Fastify from 'fastify'
import { fastifyPlugin } from '../../dist/fastify.js'
import { createReceiver } from '../../dist/index.js'
import { SECRET } from '../deliveries.mjs'

export async function createListener(onEvent) {
  const app = Fastify()
  const receiver = createReceiver({ secret: SECRET }).on('contact.created', (event) => onEvent(event.data.record))
  await app.register(fastifyPlugin, { receiver, url: '/webhooks' })
  await app.ready()
  return app
}
