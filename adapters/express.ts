import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Receives } from '../src/index.ts'
import { type AdapterOptions, NodeDelivery, writeReply } from './body.ts'

const FIX =
  "A body parser such as express.json() is mounted before the receiver, which reads by itself. Mount the receiver above it, or let a parser that has to come first keep the bytes: app.use(express.json({ verify: captureRawBody })), with captureRawBody from 'postern/express'."

/** What a `source` option sees unless it names a request type of its own. */
interface RoutedRequest extends IncomingMessage {
  /** What the path names: `tenant` of `/webhooks/:tenant`. */
  readonly params: Readonly<Record<string, string>>
}

type ExpressHandler<Request> = (
  request: Request,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => Promise<void>

/**
 * A handler for Express 4.18 and later, and 5. Under `app.use` it answers the mount path itself and leaves deeper ones to others.
 *
 * @example app.post('/webhooks', expressHandler(receiver))
 */
export function expressHandler(receiver: Receives): ExpressHandler<IncomingMessage>
export function expressHandler(
  receiver: Receives,
  options: AdapterOptions<RoutedRequest>,
): ExpressHandler<RoutedRequest>
export function expressHandler<Request extends IncomingMessage>(
  receiver: Receives,
  options: AdapterOptions<Request>,
): ExpressHandler<Request>
export function expressHandler<Request extends IncomingMessage>(
  receiver: Receives,
  options: AdapterOptions<Request> = {},
): ExpressHandler<Request> {
  return async (request, response, next) => {
    // Express sets `route` for app.post and the like, and strips the mount path from `url` for app.use.
    const { route, url }: IncomingMessage & { readonly route?: unknown } = request
    if (route === undefined && url?.split('?', 1)[0] !== '/') return next()
    writeReply(request, response, await receiver.handle(new NodeDelivery(request, options, FIX)))
  }
}

/**
 * Keeps the exact bytes in `request.rawBody`, for apps whose JSON parser has to come first.
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
