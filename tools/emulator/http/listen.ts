import { once } from 'node:events'
import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { ConfigurationError } from '../../../src/protocol/errors.ts'

const REQUEST_TIMEOUT_MS = 30_000

interface ListenOptions {
  readonly port: number
  readonly host: string
  /** Name of the program that listens, for the message of an error. */
  readonly owner: string
}

/** @throws ConfigurationError `port_in_use` */
export async function listen(
  fetch: (request: Request) => unknown,
  { port, host, owner }: ListenOptions,
): Promise<Server> {
  // With the options of node:http, the result is an HTTP/1.1 server.
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

/** Cuts all connections, and resolves when they are closed. */
export async function stop(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}

export function urlOf(server: Server, host: string): string {
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}
