import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { createAdaptorServer } from '@hono/node-server'
import express from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import { Hono } from 'hono'
import type { Receives } from 'postern'
import { expressHandler } from 'postern/express'
import { fastifyPlugin } from 'postern/fastify'
import { nextApiHandler, nextHandler } from 'postern/next'
import { nodeHandler } from 'postern/node'
import { fetchHandler } from 'postern/web'

/** A server that listens on loopback. */
export interface RunningHost {
  readonly port: number
  /** Accepts no more connections, and waits for running requests. */
  stop(): Promise<void>
  /** Cuts running requests as well. */
  close(): Promise<void>
}

/** Options that every adapter has. */
export interface HostOptions {
  readonly source?: (request: { readonly url?: string | undefined }) => string | undefined
  readonly waitUntil?: (work: Promise<unknown>) => void
}

/** Every host of a receiver; each answers POST /webhooks with it. */
export interface Host {
  readonly name: string
  /** The responder to other methods than POST: the receiver with 405, or the framework's router with 404. */
  readonly otherMethods: 404 | 405
  /** True if requests and answers are Fetch's; the adapter does not control the connections. */
  readonly isFetch?: true
  /** The framework's part that refuses an invalid content type before the receiver runs. */
  readonly refusesOddTypes?: true
  /** True if another host reads bodies and writes answers by the same code of the package. */
  readonly isTwin?: true
  start(receiver: Receives, options?: HostOptions): Promise<RunningHost>
}

export const hosts: readonly Host[] = [
  {
    name: 'Express 4',
    isTwin: true,
    otherMethods: 404,
    start: (receiver, options = {}) =>
      listen(createServer(express4().post('/webhooks', expressHandler(receiver, options)))),
  },
  {
    name: 'Express 5',
    otherMethods: 404,
    start: (receiver, options = {}) =>
      listen(createServer(express().post('/webhooks', expressHandler(receiver, options)))),
  },
  {
    name: 'Fastify 5',
    otherMethods: 405,
    refusesOddTypes: true,
    start: async (receiver, options) => {
      const app = fastify()
      await app.register(fastifyPlugin, { ...options, receiver, url: '/webhooks' })
      await app.listen({ port: 0, host: '127.0.0.1' })
      return toRunningHost(app.server, () => app.close())
    },
  },
  {
    name: 'node:http',
    otherMethods: 405,
    start: (receiver, options) => listen(createServer(nodeHandler(receiver, { ...options, path: '/webhooks' }))),
  },
  {
    name: 'Fetch',
    otherMethods: 405,
    isFetch: true,
    start: (receiver, options) => listen(createServer(toListener(fetchHandler<Request>(receiver, options)))),
  },
  {
    name: "Hono's Node server",
    otherMethods: 404,
    isFetch: true,
    start: (receiver, options) => {
      const handle = fetchHandler<Request>(receiver, options)
      const app = new Hono().post('/webhooks', (context) => handle(context.req.raw))
      return listen(createAdaptorServer({ fetch: app.fetch }) as Server)
    },
  },
  {
    name: 'Next.js App Router',
    isTwin: true,
    otherMethods: 405,
    isFetch: true,
    start: (receiver, options) => listen(createServer(toListener(nextHandler(receiver, options)))),
  },
  {
    name: 'Next.js Pages Router',
    isTwin: true,
    otherMethods: 405,
    // Next.js with bodyParser off passes on node:http's request unchanged.
    start: (receiver, options) => listen(createServer(nextApiHandler(receiver, options))),
  },
]

/** One host for each way to read a body and to write an answer. */
export const distinctHosts: readonly Host[] = hosts.filter(({ isTwin }) => !isTwin)

/** A minimal bridge from node:http to Fetch, like those of hosts of Fetch handlers on Node. */
export function toListener(handle: (request: Request) => Promise<Response>): RequestListener {
  return async (incoming, outgoing) => {
    const headers = new Headers()
    for (const [name, values] of Object.entries(incoming.headersDistinct))
      for (const value of values ?? []) headers.append(name, value)
    const isBodiless = incoming.method === 'GET' || incoming.method === 'HEAD'
    // Request accepts Node's stream; the types of the two libraries are unrelated.
    const body = isBodiless
      ? null
      : (Readable.toWeb(incoming) as ReadableStream as globalThis.ReadableStream<Uint8Array>)
    const init: RequestInit = { method: incoming.method ?? 'GET', headers, body, duplex: 'half' }
    const response = await handle(new Request(`http://localhost${incoming.url}`, init))
    const answer = Buffer.from(await response.arrayBuffer())
    outgoing.writeHead(response.status, { ...Object.fromEntries(response.headers), 'content-length': answer.length })
    outgoing.end(answer)
  }
}

export async function listen(server: Server): Promise<RunningHost> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return toRunningHost(server, () => new Promise((resolve) => server.close(() => resolve())))
}

function toRunningHost(server: Server, stop: () => Promise<void>): RunningHost {
  const close = () => {
    const stopped = stop()
    server.closeAllConnections()
    return stopped
  }
  return { port: portOf(server), stop, close }
}

export function portOf(server: { address(): AddressInfo | string | null }): number {
  return (server.address() as AddressInfo).port // it listens on a port, not on a pipe
}
