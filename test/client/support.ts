import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from 'postern'
import { type Client, type ClientOptions, createClient } from 'postern/client'
import { onTestFinished } from 'vitest'

export const EMAIL = 'ada@acme.test'
export const PASSWORD = 'pass "word" 4711'

/** A received request. */
export interface Seen {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly authorization: string | undefined
  readonly body: string
}

/** An answer of the service: a status with a body, or a function that writes the response. */
export type Reply =
  | { readonly status?: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | ((response: ServerResponse) => void)

export interface Service {
  readonly url: string
  readonly seen: readonly Seen[]
  /** Method and path of each request, except the login. */
  readonly calls: readonly string[]
  readonly logins: number
  close(): Promise<void>
}

const LOGIN = '/api/identity/auth/login'

/**
 * A real HTTP server on loopback that answers as the test says.
 *
 * @param login answers the login; by default with the tokens token-1, token-2 and so on
 */
export async function startService(
  answer: (request: Seen, count: number) => Reply | Promise<Reply>,
  login?: (request: Seen, count: number) => Reply | Promise<Reply>,
): Promise<Service> {
  const seen: Seen[] = []
  const calls: string[] = []
  let logins = 0
  const server = createServer(async (request, response) => {
    const each = await read(request)
    seen.push(each)
    if (each.path === LOGIN) {
      logins++
      write(response, await (login ?? giveToken)(each, logins))
    } else {
      calls.push(`${each.method} ${each.path}`)
      write(response, await answer(each, calls.length))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // listening on a port
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    calls,
    get logins() {
      return logins
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Starts a service that ends with the test. */
export async function serve(...answers: Parameters<typeof startService>): Promise<Service> {
  const service = await startService(...answers)
  onTestFinished(() => service.close())
  return service
}

const giveToken = (_: Seen, count: number): Reply => ({ body: { accessToken: `token-${count}`, expiresIn: 3600 } })

async function read(request: IncomingMessage): Promise<Seen> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const url = new URL(request.url ?? '/', 'http://localhost')
  return {
    method: request.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    authorization: request.headers.authorization,
    body: Buffer.concat(chunks).toString(),
  }
}

function write(response: ServerResponse, reply: Reply): void {
  if (typeof reply === 'function') return reply(response)
  const { status = 200, body, headers = {} } = reply
  const isText = typeof body === 'string'
  response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json', ...headers })
  response.end(body === undefined ? '' : isText ? body : JSON.stringify(body))
}

/** A clock that advances as soon as a caller waits: back-offs and windows take no real time, and every wait is recorded. */
export class HastyClock implements Clock {
  readonly waits: number[] = []
  /** The error of the wall clock. */
  skewMs = 0
  #elapsed = 0
  readonly #epoch = Date.now()

  now(): number {
    return this.#epoch + this.#elapsed + this.skewMs
  }

  monotonic(): number {
    return this.#elapsed
  }

  advance(ms: number): void {
    this.#elapsed += ms
  }

  setTimeout(callback: () => void, ms: number): unknown {
    // Time limits of requests run in real time: they only expire if the service hangs.
    if (ms === TIMEOUT_MS) return setTimeout(callback, ms)
    this.waits.push(ms)
    const due = this.#elapsed + ms
    return setTimeout(() => {
      this.#elapsed = Math.max(this.#elapsed, due)
      callback()
    }, 0)
  }

  clearTimeout(timer: unknown): void {
    clearTimeout(timer as NodeJS.Timeout) // setTimeout returned it
  }
}

const TIMEOUT_MS = 20_000

/** A client of a service, which waits no real time. */
export function clientOf(
  { url, fetch }: { readonly url: string; readonly fetch?: ClientOptions['fetch'] },
  options: Partial<ClientOptions> = {},
): Client {
  return createClient({
    baseUrl: url,
    ...(fetch && { fetch }),
    email: EMAIL,
    password: PASSWORD,
    timeoutMs: TIMEOUT_MS,
    clock: new HastyClock(),
    random: () => 0.5,
    ...options,
  })
}

/** Collects a whole list. */
export async function collect<T>(list: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = []
  for await (const each of list) all.push(each)
  return all
}

/** Returns the error with which a call rejected; fails if it did not. */
export async function failureOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    return error
  }
  throw new Error('it did not fail')
}
