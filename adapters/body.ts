import type { IncomingMessage, ServerResponse } from 'node:http'
import getRawBody from 'raw-body'
import type { BodyFailure, DeliveryRequest, HeaderValue, Reply } from '../src/index.ts'

/** Options that every adapter takes. */
export interface AdapterOptions<Request> {
  /** Says by the route which registration or tenant a request is for. It sees the request before its signature is checked. */
  readonly source?: (request: Request) => string | undefined
  /** Keeps a serverless host awake for handlers that end after the answer. */
  readonly waitUntil?: (work: Promise<unknown>) => void
}

/** A request of node:http, and of every framework that stands on it, as the receiver takes it. */
export class NodeDelivery<Request extends IncomingMessage> implements DeliveryRequest {
  readonly method: string | undefined
  readonly waitUntil: ((work: Promise<unknown>) => void) | undefined
  readonly #request: Request
  readonly #source: ((request: Request) => string | undefined) | undefined
  readonly #fix: string

  /** @param fix what to change where the app's own parser came first */
  constructor(request: Request, { source, waitUntil }: AdapterOptions<Request>, fix: string) {
    this.method = request.method
    this.waitUntil = waitUntil
    this.#request = request
    this.#source = source
    this.#fix = fix
  }

  source(): string | undefined {
    return this.#source?.(this.#request)
  }

  header(name: string): HeaderValue {
    return this.#request.headers[name]
  }

  read(limit: number): Uint8Array | BodyFailure | Promise<Uint8Array | BodyFailure> {
    const request: IncomingMessage & { readonly rawBody?: unknown; readonly body?: unknown } = this.#request
    if (request.readableDidRead || request.readableEncoding !== null) {
      if (request.rawBody instanceof Uint8Array) return request.rawBody
      // Parsers of bytes, such as express.raw(), leave them here.
      return request.body instanceof Uint8Array ? request.body : { failure: 'body_consumed', fix: this.#fix }
    }
    if (request.readableEnded) return new Uint8Array() // it was read by somebody, and there was nothing in it
    return new Promise((resolve) => {
      getRawBody(request, { limit, length: request.headers['content-length'] ?? null }, (error, body) =>
        resolve(error ? toFailure(error) : body),
      )
    })
  }
}

/** Writes an answer at once and whole, also while the sender is still sending, and throws away what is still to come. */
export function writeReply(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body, close, drainMs }: Reply,
): void {
  if (response.headersSent || response.destroyed) return
  const length = { 'content-length': Buffer.byteLength(body) }
  if (!close) {
    discardRest(request, drainMs)
    response.writeHead(status, { ...headers, ...length }).end(body)
    return
  }
  // Ending the response would close the socket under a sender that is still sending, and reset the answer away.
  const connection = request.httpVersionMajor > 1 ? {} : { connection: 'close' } // HTTP/2 ends a stream without a header
  response.writeHead(status, { ...headers, ...length, ...connection }).write(body)
  const end = () => {
    clearTimeout(timer)
    response.end()
  }
  const timer = setTimeout(end, drainMs)
  if (request.readableEnded) end()
  else request.once('end', end).once('close', end).once('error', end).resume()
}

/** Reads on without keeping anything, so that the connection can be used again; a sender that takes longer loses it. */
export function discardRest(request: IncomingMessage, drainMs: number): void {
  if (request.readableEnded || request.complete) return
  const timer = setTimeout(() => request.destroy(), drainMs)
  const stop = () => clearTimeout(timer)
  request.once('end', stop).once('close', stop).once('error', stop).resume()
}

function toFailure(error: { readonly type: string }): BodyFailure {
  return { failure: error.type === 'entity.too.large' ? 'body_too_large' : 'body_incomplete' }
}
