import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Receives } from '../src/index.ts'
import { type AdapterOptions, NodeDelivery, writeReply } from './body.ts'

export interface NodeHandlerOptions extends AdapterOptions<IncomingMessage> {
  /** The path to answer, without query; any other gets 404. Default: every path. */
  readonly path?: string
}

const FIX =
  'Something read the request before nodeHandler did. Call nodeHandler first, or leave the exact bytes in request.rawBody.'
const NOT_FOUND = {
  status: 404,
  headers: { 'content-type': 'application/json' },
  body: '{"code":"not_found"}',
  close: false,
  drainMs: 2_000,
}

/**
 * A request listener for node:http and node:https.
 *
 * @example createServer(nodeHandler(receiver, { path: '/webhooks' })).listen(3000)
 */
export function nodeHandler(
  receiver: Receives,
  options: NodeHandlerOptions = {},
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    const isOurs = options.path === undefined || request.url?.split('?', 1)[0] === options.path
    writeReply(request, response, isOurs ? await receiver.handle(new NodeDelivery(request, options, FIX)) : NOT_FOUND)
  }
}
