import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from 'postern'
import { type Client, type ClientOptions, createClient } from 'postern/client'

export const EMAIL = 'ada@acme.test'
export const PASSWORD = 'pass "word" 4711'

/** A request as it came in. */
export interface Seen {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly authorization: string | undefined
  readonly body: string
}

/** What a service answers: a status with a body, or whatever is done to the response itself. */
export type Reply =
  | { readonly status?: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | ((response: ServerResponse) => void)

export interface Service {
  readonly url: string
  readonly seen: readonly Seen[]
  /** Method and path of each request, the login left out. */
  readonly calls: readonly string[]
  readonly logins: number
  /** `login` answers it; default: the tokens token-1, token-2 and so on. */
  close(): Promise<void>
}

const LOGIN = '/api/identity/auth/login'

/** A real HTTP server on loopback that answers as the test says. */
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

/** Time passes as soon as somebody waits for it: back-offs and windows take none of ours, and every wait is written down. */
export class HastyClock implements Clock {
  readonly waits: number[] = []
  /** What the wall clock is off by. */
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
    // Time limits of requests run by real time: they only go off where the service hangs.
    if (ms === TIMEOUT_MS) return setTimeout(callback, ms)
    this.waits.push(ms)
    const due = this.#elapsed + ms
    return setTimeout(() => {
      this.#elapsed = Math.max(this.#elapsed, due)
      callback()
    }, 0)
  }

  clearTimeout(timer: unknown): void {
    clearTimeout(timer as NodeJS.Timeout) // what setTimeout gave
  }
}

const TIMEOUT_MS = 20_000

/** A client of that service, which waits no real time. */
export function clientOf(service: { readonly url: string }, options: Partial<ClientOptions> = {}): Client {
  return createClient({
    baseUrl: service.url,
    email: EMAIL,
    password: PASSWORD,
    timeoutMs: TIMEOUT_MS,
    clock: new HastyClock(),
    random: () => 0.5,
    ...options,
  })
}

/** All of a list. */
export async function collect<T>(list: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = []
  for await (const each of list) all.push(each)
  return all
}

/** What a call rejected with; fails where it didn't. */
export async function failureOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    return error
  }
  throw new Error('it did not fail')
}
