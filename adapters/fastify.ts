import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { Receives } from '../src/index.ts'
import { type AdapterOptions, discardRest, NodeDelivery, writeReply } from './body.ts'

export interface FastifyPluginOptions extends AdapterOptions<FastifyRequest> {
  readonly receiver: Receives
  /** The path to answer. Default `/`, below the prefix that the plugin is registered with. */
  readonly url?: string
}

const FIX =
  'A hook of this Fastify app (preParsing, onRequest) read the request before the receiver. Register fastifyPlugin in a scope without it.'

/**
 * A plugin for Fastify 5. Content type parsers are removed in its own scope only: sibling routes keep theirs.
 *
 * @example await app.register(fastifyPlugin, { receiver, url: '/webhooks' })
 */
export const fastifyPlugin: FastifyPluginAsync<FastifyPluginOptions> = async (
  app,
  { receiver, url = '/', source, waitUntil },
) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  app.all(url, async (request, reply) => {
    const options = { ...(source && { source: () => source(request) }), ...(waitUntil && { waitUntil }) }
    const answer = await receiver.handle(new NodeDelivery(request.raw, options, FIX))
    if (answer.close) {
      reply.hijack()
      return writeReply(request.raw, reply.raw, answer)
    }
    discardRest(request.raw, answer.drainMs)
    return reply.code(answer.status).headers(answer.headers).send(answer.body)
  })
}
