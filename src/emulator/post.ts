import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Clock } from '../host/clock.ts'
import { BlockedAddress, findHostProblem, guardLookup, type UrlRule } from './addresses.ts'
import type { DeliveryAttempt, FailureKind } from './delivery.ts'

/** What came of one request. */
export type PostResult = Pick<DeliveryAttempt, 'status' | 'failure' | 'error' | 'responseHeaders' | 'responseBody'>

export interface PostOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly deadlineMs: number
  readonly clock: Clock
  readonly rule: UrlRule
  readonly signal: AbortSignal
}

const MAX_READ_BYTES = 64 * 1_024
const MAX_KEPT_BYTES = 4 * 1_024
const MAX_KEPT_HEADERS = 50

/**
 * Makes one request, on a connection of its own, and follows no redirect. It has succeeded if a 2xx status came before the
 * deadline; the body is read as far as it came by then, and may be cut. Never rejects.
 */
export function post(url: URL, options: PostOptions): Promise<PostResult> {
  const { clock, deadlineMs, rule, signal } = options
  const problem = findHostProblem(url, rule)
  if (problem !== undefined) return Promise.resolve(fail('blocked-url', `the URL ${problem}`))
  return new Promise((resolve) => {
    let answer: IncomingMessage | undefined
    const parts: Uint8Array[] = []
    const finish = (failure: PostResult) => {
      clock.clearTimeout(timer)
      signal.removeEventListener('abort', cut)
      request.destroy()
      resolve(answer === undefined ? failure : conclude(answer, parts))
    }
    const cut = () => finish(fail('reset', 'the emulator was closed'))
    const late = fail('timeout', `no answer within ${deadlineMs / 1_000} s`)
    const timer = clock.setTimeout(() => finish(late), deadlineMs)
    const request = open(url, options)
    request.on('error', (error) => finish(fail(kindOf(error), tell(error))))
    request.on('response', (response) => {
      answer = response
      let length = 0
      response.on('data', (part: Uint8Array) => {
        if (length < MAX_KEPT_BYTES) parts.push(part)
        length += part.length
        if (length >= MAX_READ_BYTES) finish(late)
      })
      for (const end of ['end', 'error', 'close']) response.on(end, () => finish(late))
    })
    signal.addEventListener('abort', cut, { once: true })
    request.end(options.body)
  })
}

function open(url: URL, { headers, rule }: PostOptions): ClientRequest {
  const open = url.protocol === 'https:' ? requestHttps : requestHttp
  return open(url, { method: 'POST', agent: false, headers, lookup: guardLookup(url.protocol, rule) })
}

function conclude(answer: IncomingMessage, parts: readonly Uint8Array[]): PostResult {
  const status = answer.statusCode ?? 0
  const headers = Object.entries(answer.headers).slice(0, MAX_KEPT_HEADERS)
  const seen = {
    status,
    responseHeaders: Object.fromEntries(headers.map(([name, value]) => [name, String(value)])),
    responseBody: Buffer.concat(parts).toString('utf8', 0, MAX_KEPT_BYTES),
  }
  if (status >= 200 && status < 300) return { ...seen, failure: undefined, error: undefined }
  if (status >= 300 && status < 400)
    return { ...seen, failure: 'redirect', error: `the answer was ${status}; redirects are not followed` }
  return { ...seen, failure: 'status', error: `the answer was ${status}` }
}

/** An attempt without an answer. */
export function fail(failure: FailureKind, error: string): PostResult {
  return { status: undefined, failure, error, responseHeaders: {}, responseBody: '' }
}

const UNREACHABLE = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'EADDRNOTAVAIL', 'EHOSTDOWN']

function kindOf(error: NodeJS.ErrnoException): FailureKind {
  const code = error.code ?? ''
  if (error instanceof BlockedAddress) return 'blocked-url'
  if (error instanceof AggregateError && error.errors.length > 0) return kindOf(error.errors[0])
  if (UNREACHABLE.includes(code)) return 'refused'
  if (error.syscall === 'getaddrinfo') return 'dns'
  const isTls = /^ERR_(TLS|SSL)|CERT|^EPROTO$|ISSUER|SIGNATURE_FAILURE|^CRL_/.test(code)
  return isTls ? 'tls' : 'reset'
}

function tell(error: NodeJS.ErrnoException): string {
  const code = error.code ?? ''
  if (code === 'ECONNREFUSED') return 'the connection was refused; is the receiver running?'
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'the connection ended without an answer'
  return error.message === '' ? code : error.message
}
