import Fastify from 'fastify'
import { HEADER, isSigned } from '../receivers/by-hand.mjs'

export async function createListener(onEvent) {
  const app = Fastify()
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.post('/webhooks', async (request, reply) => {
    if (!isSigned(request.body, request.headers[HEADER])) return reply.code(401).send({ error: 'unauthorized' })
    onEvent(JSON.parse(request.body.toString()).data.record)
    return { ok: true }
  })
  await app.ready()
  return app
}
