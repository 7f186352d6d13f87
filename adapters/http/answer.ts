import type { IncomingMessage, ServerResponse } from 'node:http'
import { PosternError, type Receives, type Reply } from '../../src/engine.ts'

/** The longest time for which a refused HTTP/2 stream may stay open, in milliseconds. It is not a connection that could be reused. */
const HTTP2_DRAIN_MS = 2_000

const ANSWERED_BEFORE =
  'A 2xx loses the event if the receiver failed: let nothing answer before the receiver, and set the limit of a middleware such as connect-timeout above deadlineMs.'

/**
 * Writes a whole answer, even while the sender is still sending, and discards the rest of the request. Returns a promise if it ends the
 * response later: frameworks such as Koa end a response that is still open when its handler is done. Neither throws nor rejects: an answer
 * that cannot be written is reported, and its sender is cut off.
 */
export function writeReply(
  request: IncomingMessage,
  response: ServerResponse,
  reply: Reply,
  receiver: Receives,
): Promise<void> | undefined {
  const lose = (why: string, cause?: unknown) => {
    const message = `The answer ${reply.status} was not sent: ${why}`
    receiver.report?.(new PosternError('answer_unsent', message, { cause }))
  }
  const write = (part: () => void): boolean => {
    try {
      part()
      return true
    } catch (cause) {
      lose('the response threw. Look for middleware that wraps it, or for what a stand-in of a test lacks.', cause)
      response.destroy?.() // ends the connection as well
      return false
    }
  }
  if (response.headersSent) {
    lose(`something else had answered ${response.statusCode}. ${ANSWERED_BEFORE}`)
    // An answer that was only begun, as by a heartbeat, has no other end.
    if (!response.writableEnded) response.destroy?.()
  }
  if (response.headersSent || response.destroyed) return undefined
  if (!write(() => begin(request, response, reply)) || !reply.close) return undefined
  return new Promise((resolve) => {
    afterRest(request, reply.drainMs, (isLate) => {
      try {
        finish(request, response, isLate)
      } catch {
        response.destroy?.() // the answer itself is sent
      }
      resolve()
    })
  })
}

/**
 * Writes the answer, and ends it unless the connection has to close after it. Middleware wraps the methods of a response for their plainest
 * forms: without a callback, and with headers that were set before.
 */
function begin(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body, close, drainMs }: Reply,
): void {
  response.statusCode = status
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  response.setHeader('content-length', Buffer.byteLength(body))
  if (close && !isHttp2(request)) response.setHeader('connection', 'close') // HTTP/2 closes a stream without a header
  limitStream(request, response)
  // Ending the response now would close the socket while the sender is still sending, and the reset would discard the answer.
  if (close) return void response.write(body)
  if (isUnread(request)) afterRest(request, drainMs, (isLate) => isLate && cut(request, response))
  response.end(body)
}

function finish(request: IncomingMessage, response: ServerResponse, isLate: boolean): void {
  // For HTTP/1 as well: middleware may have kept the connection open.
  if (isLate && !isHttp2(request)) response.on('finish', () => cut(request, response))
  response.end()
  if (isLate && isHttp2(request)) cut(request, response)
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
  if (request.readableEnded || !isStream(request)) return void callback(false)
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

/** Returns false for a stand-in of a test, which has at most a body. */
export function isStream(request: Partial<IncomingMessage>): boolean {
  return typeof request.resume === 'function'
}

function isHttp2({ httpVersionMajor }: IncomingMessage): boolean {
  return httpVersionMajor > 1
}
