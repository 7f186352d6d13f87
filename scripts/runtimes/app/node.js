/** Serves receivers with the adapter that an argument names, on the runtime's own node:http. */
import { createServer } from 'node:http'
import process from 'node:process'
import express from 'express'
import fastify from 'fastify'
import { createReceiver } from 'postern'
import { expressHandler } from 'postern/express'
import { fastifyPlugin } from 'postern/fastify'
import { nodeHandler } from 'postern/node'
import { probe, work } from './work.js'

const secret = process.env.WEBHOOK_SECRET
const normal = createReceiver({ secret }).on('*', work)
const quick = createReceiver({ secret, name: 'quick', deadlineMs: 1_000, leaseMs: 2_000 }).on('*', work)

const HOST = '127.0.0.1'
const say = (server) => console.log(JSON.stringify({ port: server.address().port }))

const adapters = {
  node() {
    const routes = { '/webhooks': nodeHandler(normal), '/quick': nodeHandler(quick) }
    const ask = ({ method, url }, response) =>
      response.end(JSON.stringify(probe(method, new URL(url, 'http://localhost').searchParams.get('id'))))
    const server = createServer((request, response) => (routes[request.url] ?? ask)(request, response))
    server.listen(0, HOST, () => say(server))
  },
  express() {
    const app = express()
    app.post('/webhooks', expressHandler(normal)).post('/quick', expressHandler(quick))
    app.all('/probe', ({ method, query }, response) => response.json(probe(method, query.id)))
    const server = app.listen(0, HOST, () => say(server))
  },
  async fastify() {
    const app = fastify()
    await app.register(fastifyPlugin, { receiver: normal, url: '/webhooks' })
    await app.register(fastifyPlugin, { receiver: quick, url: '/quick' })
    app.all('/probe', async ({ method, query }) => probe(method, query.id))
    await app.listen({ port: 0, host: HOST })
    say(app.server)
  },
}
await adapters[process.argv[2]]()
