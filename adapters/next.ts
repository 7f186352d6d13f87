import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Receives } from '../src/index.ts'
import { type AdapterOptions, NodeDelivery, writeReply } from './body.ts'
import { type FetchHandlerOptions, fetchHandler } from './web.ts'

const FIX =
  'Next.js parsed the body before the receiver. Export this beside the handler: export const config = { api: { bodyParser: false } }'

/**
 * A route handler for the App Router.
 *
 * @example export const POST = nextHandler(receiver)
 */
export function nextHandler(
  receiver: Receives,
  options: FetchHandlerOptions = {},
): (request: Request) => Promise<Response> {
  return (request) => {
    const waitUntil = options.waitUntil ?? hostWaitUntil()
    return fetchHandler(receiver, { ...options, ...(waitUntil && { waitUntil }) })(request)
  }
}

/**
 * An API route for the Pages Router. It needs Next's own parser off: `export const config = { api: { bodyParser: false } }`.
 *
 * @example export default nextApiHandler(receiver)
 */
export function nextApiHandler<Request extends IncomingMessage = IncomingMessage>(
  receiver: Receives,
  options: AdapterOptions<Request> = {},
): (request: Request, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    const waitUntil = options.waitUntil ?? hostWaitUntil()
    writeReply(
      request,
      response,
      await receiver.handle(new NodeDelivery(request, { ...options, ...(waitUntil && { waitUntil }) }, FIX)),
    )
  }
}

/** Hosts of Next.js leave the context of the request under one of these symbols, so that libraries need no import to find it. */
const CONTEXT_SYMBOLS = [Symbol.for('@next/request-context'), Symbol.for('@vercel/request-context')]

interface RequestContext {
  readonly waitUntil?: (work: Promise<unknown>) => void
}

function hostWaitUntil(): ((work: Promise<unknown>) => void) | undefined {
  for (const symbol of CONTEXT_SYMBOLS) {
    const holder: { get?(): RequestContext | undefined } | undefined = Reflect.get(globalThis, symbol)
    const context = holder?.get?.()
    if (typeof context?.waitUntil === 'function') return (work) => context.waitUntil?.(work)
  }
  return undefined
}
