import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Reply } from '../../src/index.ts'

/** The longest time for which a refused HTTP/2 stream may stay open, in milliseconds. It is not a connection that could be reused. */
const HTTP2_DRAIN_MS = 2_000

/**
 * Writes a whole answer, even while the sender is still sending, and discards the rest of the request. Returns a promise if it ends the
 * response later: frameworks such as Koa end a response that is still open when its handler is done.
 */
export function writeReply(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body, close, drainMs }: Reply,
): Promise<void> | undefined {
  if (response.headersSent || response.destroyed) return undefined
  // An object: middleware that wraps writeHead may misread a flat list, and hosts other than Node return nothing from it.
  const all: Record<string, string | number> = { 'content-length': Buffer.byteLength(body), ...headers }
  if (close && !isHttp2(request)) all.connection = 'close' // HTTP/2 closes a stream without a header
  limitStream(request, response)
  response.writeHead(status, all)
  if (!close) {
    if (isUnread(request)) afterRest(request, drainMs, (isLate) => isLate && cut(request, response))
    response.end(body)
    return undefined
  }
  // Ending the response now would close the socket while the sender is still sending, and the reset would discard the answer.
  response.write(body)
  return new Promise((resolve) => {
    afterRest(request, drainMs, (isLate) => {
      const isStream = isHttp2(request)
      // For HTTP/1 as well: middleware may have kept the connection open.
      response.end(() => isLate && !isStream && cut(request, response))
      if (isLate && isStream) cut(request, response)
      resolve()
    })
  })
}

/**
 * Ends an HTTP/2 stream whose sender does not read the answer: a sender that keeps its window at 0 would keep the stream for the whole
 * session.
 */
export function limitStream(request: IncomingMessage, response: ServerResponse): void {
  const { stream } = response as { readonly stream?: ServerResponse } // only in Node's compatibility layer; used as a stream here
  if (!isHttp2(request) || stream === undefined || stream.destroyed) return
  const timer = setTimeout(() => stream.destroy(), 2 * HTTP2_DRAIN_MS)
  timer.unref()
  stream.once('close', () => clearTimeout(timer))
}

/** Returns whether an answer needs `writeReply`: a framework's own way to answer does not handle the rest of the request. */
export function isUnread(request: IncomingMessage): boolean {
  return !request.readableEnded && (isHttp2(request) || !request.complete)
}

/** Ends what still arrives after the answer: the connection or, over HTTP/2, the stream, which would live as long as its session. */
function cut(request: IncomingMessage, response: ServerResponse): void {
  const { stream } = response as { readonly stream?: { close(code: number): void } } // only in Node's compatibility layer
  if (isHttp2(request)) stream?.close(0)
  else request.destroy()
}

/** Reads and discards the rest of the request, and calls back at its end or after `drainMs`. */
function afterRest(request: IncomingMessage, drainMs: number, callback: (isLate: boolean) => unknown): void {
  if (request.readableEnded) return void callback(false)
  // Stand-ins for requests on other hosts have no socket, or another object.
  const { socket }: { readonly socket: IncomingMessage['socket'] | null } = request
  // A request that was answered gets no event when its connection ends; the HTTP/2 stream does.
  const connection = isHttp2(request) || typeof socket?.on !== 'function' ? request : socket
  const end = (isLate: boolean) => {
    clearTimeout(timer)
    request.off('end', stop).off('error', stop)
    connection.off('close', stop)
    callback(isLate)
  }
  const stop = () => end(false)
  const timer = setTimeout(end, isHttp2(request) ? Math.min(drainMs, HTTP2_DRAIN_MS) : drainMs, true)
  request.once('end', stop).once('error', stop).resume()
  connection.once('close', stop)
}

function isHttp2({ httpVersionMajor }: IncomingMessage): boolean {
  return httpVersionMajor > 1
}
