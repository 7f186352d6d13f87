import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AdapterOptions, Receives } from '../../src/index.ts'
import { writeReply } from './answer.ts'
import { NodeRequest } from './body.ts'
import { checkAdapter, wrongHost } from './check-options.ts'

const FIX =
  "A body parser such as express.json() is mounted before the receiver, which has to read the body itself. Mount the receiver above it, or let a parser that has to come first keep the bytes: app.use(express.json({ verify: captureRawBody })), with captureRawBody from 'postern/express'."

/** The request that a `source` option sees, unless it names another type. */
export interface RoutedRequest extends IncomingMessage {
  /** The parameters of the path: `tenant` of `/webhooks/:tenant`. */
  readonly params: Readonly<Record<string, string>>
}

/** Handler for a route or `app.use` of Express. */
export type ExpressHandler<Request> = (
  request: Request,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => Promise<void>

/**
 * A handler for Express 4.18 and later, and 5. Under `app.use` it answers the mount path itself and passes deeper paths on.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`; the handler throws `option_invalid` if another host calls it
 * @example app.post('/webhooks', expressHandler(receiver))
 */
export function expressHandler(receiver: Receives): ExpressHandler<IncomingMessage>
export function expressHandler<Request extends IncomingMessage = RoutedRequest>(
  receiver: Receives,
  options: AdapterOptions<Request>,
): ExpressHandler<Request>
export function expressHandler<Request extends IncomingMessage>(
  receiver: Receives,
  options: AdapterOptions<Request> = {},
): ExpressHandler<Request> {
  checkAdapter('expressHandler', receiver, options)
  const handler: ExpressHandler<Request> = (request, response, next) => {
    if (typeof next !== 'function') throw wrongHost('expressHandler', 'request, response and next of Express')
    return answer(request, response, next)
  }
  const answer: ExpressHandler<Request> = async (request, response, next) => {
    // Express strips the mount path from `url` for app.use.
    if (request.url?.split('?', 1)[0] !== '/' && isMounted(request, next)) return next()
    return writeReply(request, response, await receiver.handle(new NodeRequest(request, response, options, FIX)))
  }
  return handler
}

/**
 * Returns whether app.use called the handler, and not a route: Express passes the router's own `next`, which is also `request.next`, to
 * app.use, and another one to a route. Tracing may wrap it. Then a request that an earlier route has passed on counts as routed, so that no
 * delivery is lost.
 */
function isMounted(request: IncomingMessage & { readonly route?: unknown; readonly next?: unknown }, next: unknown) {
  return request.route === undefined || request.next === next
}

/**
 * Keeps the exact bytes in `request.rawBody`, for apps whose JSON parser must run first.
 *
 * @example app.use(express.json({ verify: captureRawBody }))
 */
export function captureRawBody(
  request: IncomingMessage & { rawBody?: unknown },
  _response: ServerResponse,
  bytes: Uint8Array,
): void {
  request.rawBody = bytes
}
