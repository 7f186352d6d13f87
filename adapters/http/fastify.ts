import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify'
import { type AdapterOptions, ANY, ConfigurationError, PosternError, type Receives, show } from '../../src/engine.ts'
import { isUnread, limitStream, writeReply } from './answer.ts'
import { NodeRequest } from './body.ts'
import { checkAdapter, isSigned, pathWithout, showPath } from './check-options.ts'

/** Options of the Fastify plugin. */
export interface FastifyPluginOptions extends AdapterOptions<FastifyRequest> {
  /** A receiver of `createReceiver`. */
  readonly receiver: Receives
  /** The path to answer, below the prefix that the plugin is registered with. Default `/`. */
  readonly url?: string | undefined
}

const FIX =
  'A hook of this Fastify app (preParsing, onRequest) read the request before the receiver. Register fastifyPlugin in a scope without it.'

const USE =
  "fastifyPlugin has no receiver among its options. It is not called but registered, with its receiver: await app.register(fastifyPlugin, { receiver, url: '/webhooks' })."

/** The plugin's own options, and those of `register` itself, which Fastify passes on. */
const OWN = { receiver: ANY, url: pathWithout(/[?#]/, 'a query'), prefix: ANY, logLevel: ANY, logSerializers: ANY }

/**
 * A plugin for Fastify 5. It removes the content type parsers in its own scope only: sibling routes keep theirs.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`, while the app gets ready
 * @example await app.register(fastifyPlugin, { receiver, url: '/webhooks' })
 */
export const fastifyPlugin: FastifyPluginAsync<FastifyPluginOptions> = async (app, options) => {
  if (!('receiver' in Object(options))) throw new ConfigurationError('option_invalid', USE)
  const { receiver, url = '/', source, waitUntil } = options
  checkAdapter('fastifyPlugin', receiver, options, OWN)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  const endWatch = watchPaths(app, app.prefix + url, receiver)
  app.all(url, async (request, reply) => {
    endWatch()
    const own = { source: source && (() => source(request)), waitUntil }
    const answer = await receiver.handle(new NodeRequest(request.raw, reply.raw, own, FIX))
    if (isUnread(request.raw)) {
      reply.hijack()
      return writeReply(request.raw, reply.raw, answer, receiver)
    }
    limitStream(request.raw, reply.raw)
    // While the server closes, a kept connection would keep it waiting.
    if (answer.close && request.raw.httpVersionMajor === 1) reply.header('connection', 'close')
    return reply.code(answer.status).headers(answer.headers).send(answer.body)
  })
}

/** Reports the first signed POST that the app answers 404, until one has come to the plugin. Returns a function that ends this. */
function watchPaths({ server }: FastifyInstance, path: string, receiver: Receives): () => void {
  const end = () => void server.off('request', watch)
  const watch = (request: IncomingMessage, response: ServerResponse) => {
    if (isSigned(request)) response.once('finish', () => response.statusCode === 404 && tell(request.url))
  }
  const tell = (asked: string | undefined) => {
    end() // anyone can send one
    const message = `The app answered 404 to a signed POST of ${showPath(asked)}; fastifyPlugin answers ${show(path)}. Register it with the url of the webhook.`
    receiver.report?.(new PosternError('delivery_passed_on', message))
  }
  server.on('request', watch)
  return end
}
