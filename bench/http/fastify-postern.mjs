import Fastify from 'fastify'
import { fastifyPlugin } from '../../dist/fastify.js'
import { createPostern } from '../receivers/postern.mjs'

export async function createListener(onEvent) {
  const app = Fastify()
  await app.register(fastifyPlugin, { receiver: createPostern(onEvent), url: '/webhooks' })
  await app.ready()
  return app
}
