/** A process with one host, which shuts down on SIGTERM as the page about deployment says. The first argument names the host. */
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { createReceiver } from 'postern'
import { expressHandler } from 'postern/express'
import { fastifyPlugin } from 'postern/fastify'
import { nodeHandler } from 'postern/node'
import { silentLogger } from 'postern/testing'
import { fetchHandler } from 'postern/web'
import { portOf } from './hosts.ts'

const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET, logger: silentLogger }).on('*', async () => {
  process.send?.('begun')
  await sleep(500)
})

const HOSTS: Readonly<Record<string, () => Promise<Server> | Server>> = {
  'node:http': () => endWith(createServer(nodeHandler(receiver)).listen(0, '127.0.0.1')),
  'Express 5': () => endWith(express().post('/webhooks', expressHandler(receiver)).listen(0, '127.0.0.1')),
  async 'Fastify 5'() {
    const app = fastify()
    await app.register(fastifyPlugin, { receiver, url: '/webhooks' })
    app.addHook('preClose', async () => {
      await receiver.close()
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    process.once('SIGTERM', () => app.close())
    return app.server
  },
  "Hono's Node server": () => endWith(serveHono(300)),
  "Hono's Node server, below slow middleware,"() {
    const server = serveHono(3_000)
    process.once('SIGTERM', () => {
      server.close(() => process.exit(0))
      void receiver.close()
    })
    return server
  },
}

/** @param afterMs what middleware takes after the answer of the receiver */
function serveHono(afterMs: number): Server {
  const handle = fetchHandler(receiver)
  const app = new Hono()
  app.use(async (_context, next) => {
    await next()
    await sleep(afterMs)
  })
  app.post('/webhooks', (context) => handle(context.req.raw))
  return serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server // not of HTTP/2
}

function endWith(server: Server): Server {
  process.once('SIGTERM', async () => {
    server.close()
    await receiver.close()
    process.exit(0)
  })
  return server
}

const server = await HOSTS[process.argv[2] ?? '']?.()
if (server?.listening === false) await new Promise((resolve) => server.once('listening', resolve))
process.send?.({ port: server && portOf(server) })
