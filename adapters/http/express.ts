import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AdapterOptions, ConfigurationError, PosternError, type Receives } from '../../src/engine.ts'
import { isStream, writeReply } from './answer.ts'
import { NodeRequest } from './body.ts'
import { checkAdapter, checkResponse, isSigned, pathOf } from './check-options.ts'

const FIX =
  "A body parser such as express.json() is mounted before the receiver, which has to read the body itself. Mount the receiver above it, or let a parser that has to come first keep the bytes: app.use(express.json({ verify: captureRawBody })), with captureRawBody from 'postern/express'."

const PASSED_ON =
  "expressHandler passed a signed POST on to next(), and no receiver answered it. Under app.use it answers only the path that it is mounted at, and it cannot see a check of the path by the app. Mount it on a route, app.post('/webhooks', expressHandler(receiver)), or call it without next: handler(request, response)."

const NO_PARSER =
  'captureRawBody is an option of a parser, not middleware, and is not called: app.use(express.json({ verify: captureRawBody })).'

/** The request that a `source` option sees, unless it names another type. */
export interface RoutedRequest extends IncomingMessage {
  /** The parameters of the path: `tenant` of `/webhooks/:tenant`. */
  readonly params: Readonly<Record<string, string>>
}

/** Handler for a route or `app.use` of Express. Without `next` it answers every request that it is called with. */
export type ExpressHandler<Request> = (
  request: Request,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => Promise<void>

/** Requests that a handler passed on, and no other has answered. */
const passedOn = new WeakSet<IncomingMessage>()

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
  let isTold = false
  const tell = (request: IncomingMessage) => {
    if (isTold || !passedOn.has(request)) return
    isTold = true // anyone can send one
    receiver.report?.(new PosternError('delivery_passed_on', PASSED_ON))
  }
  const answer: ExpressHandler<Request> = async (request, response, next) => {
    // Express strips the mount path from `url` for app.use.
    if (next !== undefined && pathOf(request.url) !== '/' && isMounted(request, next)) {
      if (isSigned(request)) {
        passedOn.add(request)
        response.on('close', () => tell(request))
      }
      return next()
    }
    passedOn.delete(request)
    return writeReply(
      request,
      response,
      await receiver.handle(new NodeRequest(request, response, options, FIX)),
      receiver,
    )
  }
  return (request, response, next) => {
    checkResponse('expressHandler', 'Express', response)
    return answer(request, response, next)
  }
}

/**
 * Returns whether app.use called the handler, and not a route: Express passes the router's own `next`, which is also `request.next`, to
 * app.use, and another one to a route. Tracing may wrap it. Then a request that an earlier route has passed on counts as routed, so that no
 * delivery is lost.
 */
function isMounted(request: IncomingMessage & { readonly route?: unknown; readonly next?: unknown }, next: unknown) {
  return isStream(request) && (request.route === undefined || request.next === next)
}

/**
 * Keeps the exact bytes in `request.rawBody`, for apps whose JSON parser must run first.
 *
 * @throws ConfigurationError `option_invalid` if it is mounted as middleware
 * @example app.use(express.json({ verify: captureRawBody }))
 */
export function captureRawBody(
  request: IncomingMessage & { rawBody?: unknown },
  _response: ServerResponse,
  bytes: Uint8Array,
): void {
  if (!ArrayBuffer.isView(bytes)) throw new ConfigurationError('option_invalid', NO_PARSER)
  request.rawBody = bytes
}
