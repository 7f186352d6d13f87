import Fastify from 'fastify'
import rawBody from 'fastify-raw-body'
import { HEADER, isSigned } from '../receivers/by-hand.mjs'

export async function createListener(onEvent) {
  const app = Fastify()
  await app.register(rawBody, { encoding: false, runFirst: true })
  app.post('/webhooks', async (request, reply) => {
    if (!isSigned(request.rawBody, request.headers[HEADER])) return reply.code(401).send({ error: 'unauthorized' })
    onEvent(request.body.data.record)
    return { ok: true }
  })
  await app.ready()
  return app
}
