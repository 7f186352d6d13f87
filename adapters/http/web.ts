import type { AdapterOptions, BodyFailure, BodyIntake, DeliveryRequest, Receives } from '../../src/engine.ts'
import { checkAdapter, isRequest, waitUntilOf, wrongHost } from './check-options.ts'
import { toKept } from './chunk.ts'

/** The parts of a Request that the adapter reads. Some hosts pass a request that has no more, such as Azure Functions. */
export interface FetchRequest {
  readonly method: string
  readonly headers: { get(name: string): string | null }
  /** A stream of Fetch. Without it, the body is read by `arrayBuffer`. */
  readonly body?: unknown
  readonly bodyUsed?: boolean | undefined
  readonly signal?: { readonly aborted: boolean } | undefined
  arrayBuffer(): Promise<ArrayBuffer>
}

/** Options of the Fetch adapter. */
export interface FetchHandlerOptions<R extends FetchRequest = Request> extends AdapterOptions<R> {
  /** Keeps a serverless host awake for handlers that end after the answer. Default: the `waitUntil` of the context that the host passes. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined
}

const CONSUMED: BodyFailure = {
  failure: 'body_consumed',
  fix: 'Something read the request before fetchHandler did. Give it the untouched Request, or read a clone: await request.clone().json().',
}

/**
 * A handler from Request to Response, for Hono, Bun, Deno, Workers and every other host that supports Fetch.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`; the handler throws `option_invalid` if another host calls it
 * @returns a function of the request and whatever the host passes along: a context with `waitUntil` among it is used
 * @example export default { fetch: fetchHandler(receiver) }
 */
export function fetchHandler<R extends FetchRequest = Request>(
  receiver: Receives,
  options: FetchHandlerOptions<R> = {},
): (request: R, ...host: unknown[]) => Promise<Response> {
  checkAdapter('fetchHandler', receiver, options)
  const answer = async (request: R, host: readonly unknown[]) => {
    const { source, waitUntil = waitUntilOf(host) } = options
    const delivery = new FetchDelivery(request, () => source?.(request), waitUntil)
    const reply = await receiver.handle(delivery)
    delivery.discardRest(reply.drainMs)
    return new Response(reply.body, { status: reply.status, headers: reply.headers })
  }
  return (request, ...host) => {
    if (!isRequest(request)) throw wrongHost('fetchHandler', 'a Request')
    return answer(request, host)
  }
}

/** The most memory that one byte of a body may cost, if the host keeps each fragment of it. */
const FRAGMENT_BYTES = 513

/** Wraps a Fetch request for the receiver. */
class FetchDelivery implements DeliveryRequest {
  readonly source: () => string | undefined
  readonly waitUntil: DeliveryRequest['waitUntil']
  readonly #request: FetchRequest
  readonly #isLight: boolean
  /** Set while the body is read in parts. */
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined

  constructor(request: FetchRequest, source: () => string | undefined, waitUntil: DeliveryRequest['waitUntil']) {
    this.#request = request
    this.source = source
    this.#isLight = isLightHttp1(request)
    this.waitUntil = waitUntil
  }

  get method(): string {
    return this.#request.method
  }

  header(name: string): string | null {
    return this.#request.headers.get(name)
  }

  read(limit: number, intake: BodyIntake): Promise<Uint8Array | BodyFailure> {
    // HTTP holds the body to its declared length, unless a lenient parser let a chunked one through as well.
    const isHeld = this.#isLight && this.header('transfer-encoding') == null
    const length = isHeld ? this.header('content-length') : null
    const isWhole = length != null && intake.reserve(Number(length) * FRAGMENT_BYTES)
    return isWhole ? this.#readWhole() : this.#readParts(limit, intake)
  }

  /**
   * Reads on without keeping anything, and cancels a body that takes longer. Cancelling immediately would cut the connection while the
   * sender is still sending, so that it never reads the answer. And on Node 20 cancelling a stream while one of its chunks is on the way
   * ends the process.
   */
  discardRest(drainMs: number): void {
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
    try {
      reader = this.#reader ?? this.#openRest()
    } catch {} // a host whose request throws has its answer
    if (reader === undefined) return
    const rest = reader
    const cancel = () => rest.cancel().catch(ignore)
    const timer = setTimeout(cancel, drainMs)
    const endsAt = Date.now() + drainMs
    const readOn = async () => {
      // A stream from memory returns chunk after chunk without ever letting a timer run.
      while (!(await rest.read()).done) if (Date.now() > endsAt) return cancel()
    }
    void readOn()
      .catch(ignore)
      .finally(() => clearTimeout(timer))
  }

  #openRest(): ReadableStreamDefaultReader<Uint8Array> | undefined {
    if (this.#isLight) return undefined // Node reads on by itself
    const { bodyUsed } = this.#request
    const body = this.#stream()
    return bodyUsed || body?.locked ? undefined : body?.getReader()
  }

  async #readWhole(): Promise<Uint8Array | BodyFailure> {
    const reading = this.#request.arrayBuffer()
    try {
      return this.#checkLength(new Uint8Array(await reading))
    } catch (error) {
      return isTypeError(error) ? CONSUMED : { failure: 'body_incomplete' }
    }
  }

  /** Counts the bytes that arrive: a declared length may understate them. */
  async #readParts(limit: number, intake: BodyIntake): Promise<Uint8Array | BodyFailure> {
    const body = this.#stream()
    if (this.#request.bodyUsed || body?.locked) return CONSUMED
    if (body === undefined) return this.#readWhole()
    this.#reader = body.getReader()
    const chunks: Uint8Array[] = []
    let length = 0
    intake.onCut = () => chunks.splice(0)
    try {
      for (let part = await this.#reader.read(); !part.done; part = await this.#reader.read()) {
        length += part.value.byteLength
        if (length > limit || !intake.take(part.value.byteLength)) return { failure: 'body_too_large' }
        chunks.push(toKept(part.value))
      }
    } catch (error) {
      // A connection that ends is another error, or aborts the signal as well.
      if (isTypeError(error) && !this.#isGone) throw error
      return { failure: 'body_incomplete' }
    }
    this.#reader = undefined
    // Some hosts end the body of a sender that has disconnected as if it were whole.
    if (this.#isGone) return { failure: 'body_incomplete' }
    return this.#checkLength(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length))
  }

  get #isGone(): boolean {
    return this.#request.signal?.aborted === true
  }

  /** Returns the body as a stream, if the host has one. */
  #stream(): ReadableStream<Uint8Array> | undefined {
    const { body } = this.#request
    return typeof Object(body).getReader === 'function' ? (body as ReadableStream<Uint8Array>) : undefined // only Fetch has the method
  }

  /** Returns whether a proxy has cut the body silently, as a Next.js proxy file does beyond 10 MB. */
  #checkLength(body: Uint8Array): Uint8Array | BodyFailure {
    const declared = this.header('content-length')
    return declared == null || Number(declared) === body.length ? body : { failure: 'body_incomplete' }
  }
}

/**
 * Returns whether the host made a light request from one of Node, as Hono's Node server does. Reading the `body` of a light request makes a
 * real request of it, which costs more than the delivery (3.8 times a receiver by hand; the light request's own `arrayBuffer` costs 1.2
 * times). Over HTTP/2 a fragment of one byte may retain the 64 KiB that were read from the socket with it.
 */
function isLightHttp1(request: FetchRequest): boolean {
  return Object.getOwnPropertySymbols(request).some(
    (symbol) => Object(Reflect.get(request, symbol)).httpVersionMajor === 1,
  )
}

function isTypeError(error: unknown): boolean {
  return Object(error).name === 'TypeError'
}

const ignore = () => {}
