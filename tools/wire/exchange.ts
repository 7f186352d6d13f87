import { Agent, type ClientRequest, type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { isBytes } from '../../src/protocol/is-bytes.ts'
import { HandshakeFailure } from './connection-failure.ts'

/** HTTP request as it is written to the socket. */
export interface WireRequest {
  /** Default `POST`. */
  readonly method?: 'POST' | 'GET' | 'PUT' | 'PATCH' | 'DELETE'
  /** In the order in which they are sent. A repeated name is sent as two lines. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Sent as a whole, or in parts as the iterable yields them. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>
}

interface WireHead {
  readonly status: number
  /** Reason phrase of the status line. */
  readonly reason: string
  readonly headers: Readonly<Record<string, string>>
}

export interface WireAnswer extends WireHead {
  /** The part that arrived and was read. */
  readonly body: Buffer
  /** False if the body was cut off by either side. */
  readonly isWhole: boolean
}

/** Phase of an exchange: `connected` includes TLS if the URL uses it; `answered` means that the status has arrived. */
export type ExchangePhase = 'connected' | 'answered'

export interface ExchangeOptions extends Pick<RequestOptions, 'agent' | 'createConnection' | 'defaultPort' | 'lookup'> {
  /** Aborting it cuts the connection. */
  readonly signal: AbortSignal
  /** Maximum number of bytes to read of the answer's body; the connection is then cut. Default: no limit. */
  readonly maxBodyBytes?: number
  /** Called when a phase is reached. */
  readonly onPhase?: (phase: ExchangePhase) => void
  /** Called with the status and the headers, as soon as they have arrived. */
  readonly onHead?: (head: WireHead) => void
}

/** Connection that is reused by sequential requests, for the option `agent`. Close it by `destroy`. */
export type KeptConnection = Agent

/** Creates a connection to the host of a URL that stays open between requests, if the host keeps it open. */
export function keepConnection({ protocol }: URL): KeptConnection {
  const options = { keepAlive: true, maxSockets: 1 }
  return protocol === 'https:' ? new HttpsAgent(options) : new Agent(options)
}

/**
 * Sends one request over HTTP/1.1, and follows no redirect. Does not use fetch, which can neither repeat a header nor send a body in
 * parts of a given size.
 *
 * @returns the answer, once its body has ended or was cut off by either side
 * @throws the error of the connection, or the reason of the signal, if no status arrived
 */
export function exchange(
  url: URL,
  { method = 'POST', headers, body }: WireRequest,
  { signal, maxBodyBytes = Infinity, onPhase = () => {}, onHead, ...connection }: ExchangeOptions,
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
      else resolve({ ...toHead(answer), body: Buffer.concat(parts), isWhole: answer.complete })
    }
    const cut = () => finish(signal.reason)
    signal.addEventListener('abort', cut, { once: true })
    request.on('socket', (socket) => {
      if (!socket.connecting) return onPhase('connected') // a kept connection, or one that the caller created
      if (url.protocol === 'https:') socket.once('connect', () => (isShaking = true))
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        isShaking = false
        onPhase('connected')
      })
    })
    // An answer may arrive before the body is sent, and the connection may end after it.
    request.on('error', (error) => finish(isShaking ? new HandshakeFailure(error) : error))
    // After a 101, `close` is the only event.
    request.on('close', () => {
      if (answer === undefined) finish(new Error('the connection ended without an answer'))
    })
    request.on('response', (response) => {
      answer = response
      onPhase('answered')
      onHead?.(toHead(response))
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
  if (!isBytes(body)) {
    request.flushHeaders()
    const closed = new Promise((resolve) => request.once('close', resolve))
    for await (const part of body) {
      if (request.destroyed) return
      // Parts that wait for the connection would be sent as one.
      await Promise.race([new Promise((resolve) => request.write(part, resolve)), closed])
    }
  } else if (body.length > 0) {
    request.write(body)
  }
  request.end()
}

/** Groups the headers by name. Node writes each value of a list as a separate line. */
function toLists(headers: WireRequest['headers']): Record<string, string | string[]> {
  const lists: Record<string, string | string[]> = {}
  for (const [name, value] of headers) {
    const before = lists[name]
    lists[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value]
  }
  return lists
}

function toHead({ statusCode = 0, statusMessage = '', headersDistinct }: IncomingMessage): WireHead {
  const headers = Object.entries(headersDistinct).map(([name, values = []]) => [name, values.join(', ')] as const)
  return { status: statusCode, reason: statusMessage, headers: Object.fromEntries(headers) }
}
