import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AdapterOptions, Receives } from '../../src/engine.ts'
import { writeReply } from './answer.ts'
import { checkAdapter, checkResponse, isRequest, waitUntilOf, wrongHost } from './check-options.ts'
import { type FetchHandlerOptions, fetchHandler } from './web.ts'

/** Options of the App Router's handler. */
export interface NextHandlerOptions<Params = Readonly<Record<string, string>>>
  extends Pick<FetchHandlerOptions, 'waitUntil'> {
  /**
   * Returns which registration or tenant a request is for, from its route: `params.tenant` of `app/webhooks/[tenant]/route.ts`. It runs before
   * the signature is checked.
   */
  readonly source?: ((request: Request, route: { readonly params: Params }) => string | undefined) | undefined
}

const FIX =
  'Next.js parsed the body before the receiver. Export this beside the handler: export const config = { api: { bodyParser: false } }'

/**
 * A route handler for the App Router.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`; the handler throws `option_invalid` if another host calls it
 * @example export const POST = nextHandler(receiver)
 * @example export const POST = nextHandler(receiver, { source: (_request, { params }) => params.tenant })
 */
export function nextHandler<Params = Readonly<Record<string, string>>>(
  receiver: Receives,
  options: NextHandlerOptions<Params> = {},
): (request: Request, route?: unknown) => Promise<Response> {
  checkAdapter('nextHandler', receiver, options)
  const { source, waitUntil } = options
  const answer = async (request: Request, route: unknown) => {
    const params: Params = await Object(route).params // a promise since Next.js 15
    const own = { source: source && (() => source(request, { params })), waitUntil }
    return fetchHandler(receiver, own)(request, ...findContexts())
  }
  return (request, route) => {
    if (!isRequest(request)) throw wrongHost('nextHandler', 'a Request')
    return answer(request, route)
  }
}

/**
 * An API route for the Pages Router. It needs Next's own parser turned off: `export const config = { api: { bodyParser: false } }`.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`; the handler throws `option_invalid` if another host calls it
 * @example export default nextApiHandler(receiver)
 */
export function nextApiHandler<Request extends IncomingMessage = IncomingMessage>(
  receiver: Receives,
  options: AdapterOptions<Request> = {},
): (request: Request, response: ServerResponse) => Promise<void> {
  checkAdapter('nextApiHandler', receiver, options)
  const answer = async (request: Request, response: ServerResponse) => {
    const { waitUntil = waitUntilOf(findContexts()) } = options
    const { NodeRequest } = await import('./body.ts') // it loads raw-body, which the App Router does not need
    const delivery = new NodeRequest(request, response, { ...options, waitUntil }, FIX)
    return writeReply(request, response, await receiver.handle(delivery), receiver)
  }
  return (request, response) => {
    checkResponse('nextApiHandler', 'node:http', response)
    return answer(request, response)
  }
}

/** Hosts of Next.js store the context of the request under one of these symbols, so that libraries find it without an import. */
const CONTEXT_SYMBOLS = [Symbol.for('@next/request-context'), Symbol.for('@vercel/request-context')]

/** Returns the contexts of the request, one of which may keep the host awake. */
function findContexts(): readonly unknown[] {
  return CONTEXT_SYMBOLS.map((symbol) => Reflect.get(globalThis, symbol)?.get?.())
}
