import type { BodyFailure, Receives } from '../src/index.ts'

/** Options of the Fetch adapter. */
export interface FetchHandlerOptions {
  /** Says by the route which registration or tenant a request is for. It sees the request before its signature is checked. */
  readonly source?: (request: Request) => string | undefined
  /** Keeps a serverless host awake for handlers that end after the answer. Default: `waitUntil` of what the host passes along. */
  readonly waitUntil?: (work: Promise<unknown>) => void
}

const CONSUMED: BodyFailure = {
  failure: 'body_consumed',
  fix: 'Something read the request before fetchHandler did. Give it the untouched Request, or read a clone: await request.clone().json().',
}

/**
 * A handler from Request to Response, for Hono, Bun, Deno, Workers and every other host that speaks Fetch.
 *
 * @returns a function of the request and whatever the host passes along: a context with `waitUntil` among it is used
 * @example export default { fetch: fetchHandler(receiver) }
 */
export function fetchHandler(
  receiver: Receives,
  options: FetchHandlerOptions = {},
): (request: Request, ...host: unknown[]) => Promise<Response> {
  return async (request, ...host) => {
    const reply = await receiver.handle({
      method: request.method,
      header: (name) => request.headers.get(name),
      read: (limit, stop) => readBody(request, limit, stop),
      source: () => options.source?.(request),
      waitUntil: options.waitUntil ?? waitUntilOf(host),
    })
    if (!request.bodyUsed) request.body?.cancel().catch(ignore)
    return new Response(reply.body, { status: reply.status, headers: reply.headers })
  }
}

/** Counts what comes in: a declared length may understate it. */
async function readBody(
  request: Request,
  limit: number,
  stop: { readonly signal: AbortSignal },
): Promise<Uint8Array | BodyFailure> {
  if (request.bodyUsed || request.body?.locked) return CONSUMED
  if (request.body === null) return new Uint8Array()
  const reader = request.body.getReader()
  stop.signal.addEventListener('abort', () => reader.cancel().catch(ignore), { once: true })
  const chunks: Uint8Array[] = []
  let length = 0
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    length += part.value.byteLength
    if (length > limit) {
      reader.cancel().catch(ignore)
      return { failure: 'body_too_large' }
    }
    chunks.push(part.value)
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length)
}

function waitUntilOf(host: readonly unknown[]): ((work: Promise<unknown>) => void) | undefined {
  const context = host.find(
    (value): value is { waitUntil(work: Promise<unknown>): void } =>
      typeof value === 'object' && value !== null && 'waitUntil' in value && typeof value.waitUntil === 'function',
  )
  return context && ((work) => context.waitUntil(work))
}

const ignore = () => {}
