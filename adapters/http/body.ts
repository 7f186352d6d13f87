import type { IncomingMessage, ServerResponse } from 'node:http'
import { isUint8Array } from 'node:util/types'
import getRawBody from 'raw-body'
import type { AdapterOptions, BodyFailure, BodyIntake, DeliveryRequest, HeaderValue } from '../../src/engine.ts'
import { isStream } from './answer.ts'
import { toKept } from './chunk.ts'

const NO_STREAM =
  'The request is no stream, but a stand-in: set its body or rawBody to the bytes of signed(event, { secret }).body, or test the whole app with nodeTarget(app) or an HTTP client.'

const TEXT_KEPT =
  'request.rawBody holds text, which may differ from the bytes that were signed. Keep the Buffer itself, without toString() and without setEncoding().'

/** Wraps a request of node:http, or of a framework built on it, for the receiver. */
export class NodeRequest<Request extends IncomingMessage> implements DeliveryRequest {
  readonly method: string | undefined
  readonly waitUntil: AdapterOptions<Request>['waitUntil']
  readonly #request: Request
  readonly #response: ServerResponse
  readonly #source: AdapterOptions<Request>['source']
  readonly #fix: string

  /** @param fix what to change if the app's own parser came first */
  constructor(request: Request, response: ServerResponse, { source, waitUntil }: AdapterOptions<Request>, fix: string) {
    this.method = request.method
    this.waitUntil = waitUntil
    this.#request = request
    this.#response = response
    this.#source = source
    this.#fix = fix
    // For as long as the request lives: Bun emits an error when a sender disconnects after its answer, which would end the process.
    request.on?.('error', ignore)
  }

  source(): string | undefined {
    return this.#source?.(this.#request)
  }

  header(name: string): HeaderValue {
    return this.#request.headers?.[name]
  }

  onAnswered(callback: () => void): void {
    if (typeof this.#response.listenerCount !== 'function') return callback() // a stand-in that emits nothing
    const { stream } = this.#response as { readonly stream?: { readonly destroyed: boolean } } // only over HTTP/2
    const { destroyed, closed, socket } = this.#response
    if (destroyed || closed || stream?.destroyed || (socket === null && this.#request.socket?.destroyed))
      return callback()
    // Emitted after the last byte of the answer, and also if the sender has disconnected.
    if (socket === null && typeof this.#request.socket?.on === 'function')
      this.#response.on('close', alsoWith(this.#request.socket, callback))
    else if (stream !== undefined || 'ref' in Object(socket)) this.#response.on('close', callback)
    // A serverless host has made this response, on something that is not a socket: it may only finish.
    else this.#response.on('finish', callback).on('close', callback)
  }

  read(limit: number, intake: BodyIntake): Uint8Array | BodyFailure | Promise<Uint8Array | BodyFailure> {
    const request: IncomingMessage & { readonly rawBody?: unknown; readonly body?: unknown } = this.#request
    if (request.aborted) return { failure: 'body_incomplete' }
    const isReadable = isStream(request)
    const isUnread = isReadable && !request.readableDidRead && request.readableEncoding === null
    if (isUnread && !request.readableEnded) return readBody(request, limit, intake)
    if (isUint8Array(request.rawBody)) return request.rawBody
    // Byte parsers such as express.raw() leave the body here, and so does Nitro on serverless hosts, whose stand-in has ended unread.
    if (isUint8Array(request.body)) return request.body
    const hasText = [request.rawBody, request.body].some((kept) => typeof kept === 'string' && kept !== '')
    // Something read the body, and it was empty.
    if (isUnread && !hasText && !(Number(request.headers?.['content-length']) > 0)) return new Uint8Array()
    const fix = typeof request.rawBody === 'string' ? TEXT_KEPT : isReadable ? this.#fix : NO_STREAM
    return { failure: 'body_consumed', fix }
  }
}

function readBody(request: IncomingMessage, limit: number, intake: BodyIntake): Promise<Uint8Array | BodyFailure> {
  const stream = countChunks(request, intake)
  // Everything that raw-body calls on a stream is here. Without a callback it makes no AsyncResource.
  const reading = getRawBody(stream as unknown as NodeJS.ReadableStream, {
    limit,
    length: request.headers['content-length'] ?? null,
  })
  request.resume() // earlier middleware may have paused it
  return request.httpVersionMajor === 1 ? reading.then(undefined, toFailure) : reading.then(afterResets, toFailure)

  async function afterResets(body: Uint8Array): Promise<Uint8Array | BodyFailure> {
    // HTTP/2 clients end a stream before they reset it, and the server learns of the reset two turns of the event loop later.
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
    return request.aborted ? { failure: 'body_incomplete' } : body
  }
}

function toFailure(error: { readonly type?: unknown }): BodyFailure {
  if (error === NOT_BYTES)
    return {
      failure: 'body_consumed',
      fix: 'Something called setEncoding() on the request while the receiver read it. Leave the request alone, and look at the event in a handler instead.',
    }
  if (Object(error).name === 'TypeError') throw error // of a stand-in without what a stream has, or of the app's own stream
  return { failure: error.type === 'entity.too.large' ? 'body_too_large' : 'body_incomplete' }
}

/** Callbacks for the end of a socket. They share one listener, since hundreds of requests may be queued on one socket. */
const waitingOn = new WeakMap<IncomingMessage['socket'], Set<() => void>>()

/**
 * Returns a callback that is also called when the socket closes: an answer that is queued on a connection gets no event when the connection
 * ends.
 */
function alsoWith(socket: IncomingMessage['socket'], callback: () => void): () => void {
  const waiting = waitingOn.get(socket) ?? new Set()
  if (!waitingOn.has(socket)) {
    waitingOn.set(socket, waiting)
    socket.on('close', () => {
      for (const call of waiting) call()
    })
  }
  const call = () => {
    waiting.delete(call)
    callback()
  }
  waiting.add(call)
  return call
}

/** Ends a body whose chunks were decoded to text: its bytes are lost. */
const NOT_BYTES = new TypeError('a chunk of the body is text')

type Listener = (...args: readonly unknown[]) => void

/** Presents a request to raw-body, and counts each chunk before it is kept. */
function countChunks(request: IncomingMessage, intake: BodyIntake) {
  let keep: Listener = ignore
  let fail: Listener = ignore
  let isCut = false
  const onData = (chunk: unknown): void => {
    if (!isUint8Array(chunk)) return fail(NOT_BYTES)
    if (keep !== ignore && intake.take(chunk.length)) keep(toKept(chunk))
  }
  return {
    readable: request.readable,
    on(event: string, listener: Listener): void {
      if (event === 'data') {
        keep = listener
        request.on('data', onData)
        return
      }
      request.on(event, listener)
      if (event === 'error') fail = listener
      if (event !== 'close') return
      // The event on which raw-body cleans up makes it release everything that it has kept, as at the end of a connection.
      intake.onCut = () => {
        isCut = true
        listener()
      }
    },
    /** Leaves the listeners on a body that was read: they do nothing any more, and removing five of them takes time. */
    removeListener(event: string, listener: Listener): void {
      if (event === 'data') keep = ignore
      else if (isCut) request.removeListener(event, listener)
    },
    unpipe: ignore,
    pause: () => request.pause(),
  }
}

const ignore = () => {}
