import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { AdapterOptions, Receives } from '../../src/engine.ts'
import { writeReply } from './answer.ts'
import { NodeRequest } from './body.ts'
import { checkAdapter, checkResponse, path, pathOf } from './check-options.ts'

/** Options of the handler for `node:http`. */
export interface NodeHandlerOptions extends AdapterOptions<IncomingMessage> {
  /** The path to answer, without query; any other path gets 404. Default: every path. */
  readonly path?: string | undefined
}

const FIX =
  'Something read the request before nodeHandler did. Call nodeHandler first, or leave the exact bytes in request.rawBody. If the platform parses bodies, mount the receiver in its own way: fetchHandler(receiver) as POST on Vercel, fastifyPlugin in NestJS on Fastify.'
const NOT_FOUND = {
  status: 404,
  headers: { 'content-type': 'application/json' },
  body: '{"code":"not_found"}',
  close: false,
  drainMs: 2_000,
}

/**
 * A request listener for node:http, node:https and the compatibility layer of node:http2.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`; the listener throws `option_invalid` if another host calls it
 * @example createServer(nodeHandler(receiver, { path: '/webhooks' })).listen(3000)
 */
export function nodeHandler(
  receiver: Receives,
  options: NodeHandlerOptions = {},
): (request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse) => Promise<void> {
  checkAdapter('nodeHandler', receiver, options, { path: path(/[?#*]|\/:/, 'a query or patterns') })
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const isOurs = options.path === undefined || pathOf(request.url) === options.path
    const delivery = new NodeRequest(request, response, options, FIX)
    const reply = isOurs ? await receiver.handle(delivery) : NOT_FOUND
    return writeReply(request, response, reply, receiver)
  }
  return (request, response) => {
    checkResponse('nodeHandler', 'node:http', response)
    return answer(request as IncomingMessage, response as ServerResponse) // http2's have everything that is used
  }
}
