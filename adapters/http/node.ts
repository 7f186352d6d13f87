import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { type AdapterOptions, PosternError, type Receives, show } from '../../src/engine.ts'
import { writeReply } from './answer.ts'
import { NodeRequest } from './body.ts'
import { checkAdapter, checkResponse, isSigned, pathOf, pathWithout, showPath } from './check-options.ts'

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
  checkAdapter('nodeHandler', receiver, options, { path: pathWithout(/[?#*]|\/:/, 'a query or patterns') })
  let isQuiet = false
  const tell = (target: string | undefined) => {
    isQuiet = true // anyone can send one
    const message = `nodeHandler answered 404 to a signed POST of ${showPath(target)}, since its path is ${show(options.path)}. Give the path of the URL that is registered.`
    receiver.report?.(new PosternError('delivery_passed_on', message))
  }
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const isOurs = options.path === undefined || pathOf(request.url) === options.path
    if (isOurs) isQuiet = true
    else if (!isQuiet && isSigned(request)) tell(request.url)
    const delivery = new NodeRequest(request, response, options, FIX)
    const reply = isOurs ? await receiver.handle(delivery) : NOT_FOUND
    return writeReply(request, response, reply, receiver)
  }
  return (request, response) => {
    checkResponse('nodeHandler', 'node:http', response)
    return answer(request as IncomingMessage, response as ServerResponse) // http2's have everything that is used
  }
}
