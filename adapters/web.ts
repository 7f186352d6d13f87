import type { BodyFailure, BodyIntake, Receives } from '../src/index.ts'
import { checkOptions } from './check-options.ts'

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
 * @throws ConfigurationError `option_invalid`, `option_unknown`
 * @returns a function of the request and whatever the host passes along: a context with `waitUntil` among it is used
 * @example export default { fetch: fetchHandler(receiver) }
 */
export function fetchHandler(
  receiver: Receives,
  options: FetchHandlerOptions = {},
): (request: Request, ...host: unknown[]) => Promise<Response> {
  checkOptions('fetchHandler', receiver, options)
  return async (request, ...host) => {
    const body = new FetchBody(request)
    const reply = await receiver.handle({
      method: request.method,
      header: (name) => request.headers.get(name),
      read: (limit, intake) => body.read(limit, intake),
      source: () => options.source?.(request),
      waitUntil: options.waitUntil ?? waitUntilOf(host),
    })
    body.discardRest(reply.drainMs)
    return new Response(reply.body, { status: reply.status, headers: reply.headers })
  }
}

/** The body of a request, with the one reader that it may have. */
class FetchBody {
  readonly #request: Request
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  #isAtEnd = false

  constructor(request: Request) {
    this.#request = request
  }

  /** Counts what comes in: a declared length may understate it. */
  async read(limit: number, intake: BodyIntake): Promise<Uint8Array | BodyFailure> {
    const { body, bodyUsed } = this.#request
    if (bodyUsed || body?.locked) return CONSUMED
    if (body === null) return new Uint8Array()
    this.#reader = body.getReader()
    const chunks: Uint8Array[] = []
    let length = 0
    intake.onCut = () => chunks.splice(0)
    for (let part = await this.#reader.read(); !part.done; part = await this.#reader.read()) {
      length += part.value.byteLength
      if (length > limit || !intake.take(part.value.byteLength)) return { failure: 'body_too_large' }
      chunks.push(part.value)
    }
    this.#isAtEnd = true
    // Something between the sender and here may cut a body without a word, as a Next.js proxy file does beyond 10 MB.
    const declared = this.#request.headers.get('content-length')
    if (declared !== null && Number(declared) !== length) return { failure: 'body_incomplete' }
    return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length)
  }

  /**
   * Reads on without keeping anything, and cancels a body that takes longer. Cancelling immediately would cut the connection under a
   * sender that is still sending, who then never reads the answer; and on Node 20 a stream that is cancelled while a
   * chunk of it is on the way ends the process.
   */
  discardRest(drainMs: number): void {
    const { body, bodyUsed } = this.#request
    const reader = this.#reader ?? (bodyUsed || body?.locked ? undefined : body?.getReader())
    if (reader === undefined || this.#isAtEnd) return
    const cancel = () => reader.cancel().catch(ignore)
    const timer = setTimeout(cancel, drainMs)
    const stop = () => clearTimeout(timer)
    const endsAt = Date.now() + drainMs
    const readOn = async () => {
      // A stream out of memory returns part after part without ever letting a timer run.
      while (!(await reader.read()).done) if (Date.now() > endsAt) return cancel()
    }
    readOn().then(stop, stop)
  }
}

function waitUntilOf(host: readonly unknown[]): ((work: Promise<unknown>) => void) | undefined {
  const context = host.find(
    (value): value is { waitUntil(work: Promise<unknown>): void } =>
      typeof value === 'object' && value !== null && 'waitUntil' in value && typeof value.waitUntil === 'function',
  )
  return context && ((work) => context.waitUntil(work))
}

const ignore = () => {}
