import { Agent, type ClientRequest, type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { HandshakeFailure } from './connection-failure.ts'

/** One HTTP request, as it stands on the wire. */
export interface WireRequest {
  /** Default `POST`. */
  readonly method?: 'POST' | 'GET'
  /** In the order in which they are sent. A name that stands here twice makes two lines. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Sent as a whole, or part by part as they come. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>
}

/** The answer to a request. */
export interface WireAnswer {
  readonly status: number
  /** The words behind the status. */
  readonly reason: string
  readonly headers: Readonly<Record<string, string>>
  /** As far as it came, and was read. */
  readonly body: Buffer
}

/** A part of an exchange: there is a connection, with TLS if the URL has it; the status has come. */
export type ExchangePhase = 'connected' | 'answered'

export interface ExchangeOptions extends Pick<RequestOptions, 'agent' | 'createConnection' | 'defaultPort' | 'lookup'> {
  /** Cuts the connection. */
  readonly signal: AbortSignal
  /** The answer is cut off after this much of its body. Default: none is. */
  readonly maxBodyBytes?: number
  /** Called when a part has been reached. */
  readonly onPhase?: (phase: ExchangePhase) => void
}

/** A connection that one request after the other can use, for the option `agent`. `destroy` ends it. */
export type KeptConnection = Agent

/** Keeps a connection to the host of a URL open after its first request, if the host does. */
export function keepConnection({ protocol }: URL): KeptConnection {
  const options = { keepAlive: true, maxSockets: 1 }
  return protocol === 'https:' ? new HttpsAgent(options) : new Agent(options)
}

/**
 * Makes one request over HTTP/1.1 and follows no redirect. Not by fetch, which can send neither two headers of one name nor a
 * body in parts of a given size.
 *
 * @returns the answer once its body has ended or was cut off, on whichever side
 * @throws the error of the connection, or the reason of the signal, if no status came
 */
export function exchange(
  url: URL,
  { method = 'POST', headers, body }: WireRequest,
  { signal, maxBodyBytes = Infinity, onPhase = () => {}, ...connection }: ExchangeOptions,
): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const open = url.protocol === 'https:' ? requestHttps : requestHttp
    const request = open(url, { ...connection, method, headers: toLists(headers) })
    let answer: IncomingMessage | undefined
    let isShaking = false
    const parts: Uint8Array[] = []
    const finish = (error?: unknown) => {
      signal.removeEventListener('abort', cut)
      request.destroy()
      if (answer === undefined) reject(error)
      else resolve(toAnswer(answer, Buffer.concat(parts)))
    }
    const cut = () => finish(signal.reason)
    signal.addEventListener('abort', cut, { once: true })
    request.on('socket', (socket) => {
      if (!socket.connecting) return onPhase('connected') // it was used before, or was given
      if (url.protocol === 'https:') socket.once('connect', () => (isShaking = true))
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        isShaking = false
        onPhase('connected')
      })
    })
    // An answer may come before the body has left, and the connection may end behind it.
    request.on('error', (error) => finish(isShaking ? new HandshakeFailure(error) : error))
    // Of a connection that ends behind a 101 nothing else is told.
    request.on('close', () => {
      if (answer === undefined) finish(new Error('the connection ended without an answer'))
    })
    request.on('response', (response) => {
      answer = response
      onPhase('answered')
      let length = 0
      response.on('data', (part: Uint8Array) => {
        parts.push(part)
        length += part.length
        if (length >= maxBodyBytes) finish()
      })
      for (const end of ['end', 'error', 'close']) response.on(end, () => finish())
    })
    write(request, body).catch(finish)
  })
}

async function write(request: ClientRequest, body: WireRequest['body']): Promise<void> {
  if (!(body instanceof Uint8Array)) {
    request.flushHeaders()
    for await (const part of body) {
      if (request.destroyed) return
      request.write(part)
    }
  } else if (body.length > 0) {
    request.write(body)
  }
  request.end()
}

/** Several values of one name are written as lines of their own. */
function toLists(headers: WireRequest['headers']): Record<string, string | string[]> {
  const lists: Record<string, string | string[]> = {}
  for (const [name, value] of headers) {
    const before = lists[name]
    lists[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value]
  }
  return lists
}

function toAnswer({ statusCode = 0, statusMessage = '', headersDistinct }: IncomingMessage, body: Buffer): WireAnswer {
  const headers = Object.entries(headersDistinct).map(([name, values = []]) => [name, values.join(', ')] as const)
  return { status: statusCode, reason: statusMessage, headers: Object.fromEntries(headers), body }
}
