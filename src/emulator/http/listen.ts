import { once } from 'node:events'
import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { ConfigurationError } from '../../protocol/errors.ts'

/** Bodies and heads that come slower than this are cut off. */
const REQUEST_TIMEOUT_MS = 30_000

interface ListenOptions {
  /** 0 takes a free one. */
  readonly port: number
  readonly host: string
  /** Who listens, for the error's message. */
  readonly owner: string
}

/**
 * Serves a handler of Fetch requests over HTTP/1.1.
 *
 * @throws ConfigurationError `port_in_use`
 */
export async function listen(
  fetch: (request: Request) => unknown,
  { port, host, owner }: ListenOptions,
): Promise<Server> {
  // Options of node:http: an HTTP/1.1 server is what it makes of them.
  const server = createAdaptorServer({ fetch, overrideGlobalObjects: false, hostname: host }) as Server
  server.requestTimeout = REQUEST_TIMEOUT_MS
  server.headersTimeout = REQUEST_TIMEOUT_MS
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (cause) {
    const isOfHost = /ENOTFOUND|EAI_|EADDRNOTAVAIL|EINVAL/.test(String(cause))
    const fix = isOfHost ? 'Give an address of this machine as host.' : 'Give another port.'
    throw new ConfigurationError('port_in_use', `${owner} cannot listen on ${host}:${port}: ${String(cause)}. ${fix}`, {
      cause,
    })
  }
  return server
}

/** Cuts all connections, and ends when they are closed. */
export async function stop(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}

/** The address that a server listens on, without a path. */
export function urlOf(server: Server, host: string): string {
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}
