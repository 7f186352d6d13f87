import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Reply } from '../../src/index.ts'

/** The time for which a refused stream of HTTP/2 may go on, in milliseconds: it is no connection that could be used again. */
const HTTP2_DRAIN_MS = 2_000

/**
 * Writes an answer whole, also while the sender is still sending, and throws away what is still to come. Returns a promise if
 * it ends the response later: frameworks such as Koa end one that is still open when its handler is done.
 */
export function writeReply(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body, close, drainMs }: Reply,
): Promise<void> | undefined {
  if (response.headersSent || response.destroyed) return undefined
  // An object: middleware that wraps writeHead may read a flat list wrongly, and hosts other than Node return nothing from it.
  const all: Record<string, string | number> = { 'content-length': Buffer.byteLength(body) }
  for (const name in headers) all[name] = headers[name] ?? ''
  if (close && !isHttp2(request)) all.connection = 'close' // HTTP/2 ends a stream without a header
  limitStream(request, response)
  response.writeHead(status, all)
  if (!close) {
    if (isUnread(request)) afterRest(request, drainMs, (isLate) => isLate && cut(request, response))
    response.end(body)
    return undefined
  }
  // Ending the response would close the socket under a sender that is still sending, and reset the answer away.
  response.write(body)
  return new Promise((resolve) => {
    afterRest(request, drainMs, (isLate) => {
      const isStream = isHttp2(request)
      // Over HTTP/1 as well: middleware may have kept the connection open.
      response.end(() => isLate && !isStream && cut(request, response))
      if (isLate && isStream) cut(request, response)
      resolve()
    })
  })
}

/** Ends a stream of HTTP/2 whose sender takes no answer: one that keeps its window at 0 would keep it as long as the session. */
export function limitStream(request: IncomingMessage, response: ServerResponse): void {
  const { stream } = response as { readonly stream?: ServerResponse } // of Node's compatibility layer; a stream as any other here
  if (!isHttp2(request) || stream === undefined || stream.destroyed) return
  const timer = setTimeout(() => stream.destroy(), 2 * HTTP2_DRAIN_MS)
  timer.unref()
  stream.once('close', () => clearTimeout(timer))
}

/** Returns whether an answer needs `writeReply`: a framework's own way to answer does not handle the rest of the request. */
export function isUnread(request: IncomingMessage): boolean {
  return !request.readableEnded && (isHttp2(request) || !request.complete)
}

/** Ends what still comes in after the answer: the connection or, over HTTP/2, the stream, which would live as long as its session. */
function cut(request: IncomingMessage, response: ServerResponse): void {
  const { stream } = response as { readonly stream?: { close(code: number): void } } // of Node's compatibility layer
  if (isHttp2(request)) stream?.close(0)
  else request.destroy()
}

/** Reads and throws away what is still to come, and calls back at its end, or when `drainMs` are over. */
function afterRest(request: IncomingMessage, drainMs: number, callback: (isLate: boolean) => unknown): void {
  if (request.readableEnded) return void callback(false)
  const { socket }: { readonly socket: IncomingMessage['socket'] | null } = request // stand-ins of hosts have none, or another object
  // A request that was answered does not hear that its connection has ended. The one of HTTP/2 does.
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
