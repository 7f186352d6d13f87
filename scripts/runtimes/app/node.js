/** Serves a receiver with the adapter that an argument names, on the runtime's own node:http. */
import { createServer } from 'node:http'
import process from 'node:process'
import express from 'express'
import fastify from 'fastify'
import { createReceiver } from 'postern'
import { expressHandler } from 'postern/express'
import { fastifyPlugin } from 'postern/fastify'
import { nodeHandler } from 'postern/node'

const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET, deadlineMs: 1_000, leaseMs: 2_000 })
receiver.on('*', () => {})

const app = fastify()
await app.register(fastifyPlugin, { receiver, url: '/*' })
await app.ready()
const listeners = {
  node: nodeHandler(receiver),
  express: express().post(/.*/, expressHandler(receiver)),
  fastify: app.routing,
}
const server = createServer(listeners[process.argv[2]])
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })))
