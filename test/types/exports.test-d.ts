// What apps export of Postern, as far as its type is inferred and not only the name of an exported interface, whose export
// test/package-types.test.ts proves by itself. That test has these declarations written as an app does, against the tarball.
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import pg from 'pg'
import * as postern from 'postern'
import * as check from 'postern/check'
import * as client from 'postern/client'
import * as emulator from 'postern/emulator'
import { captureRawBody, expressHandler } from 'postern/express'
import { fastifyPlugin } from 'postern/fastify'
import { contact } from 'postern/models'
import { nextApiHandler, nextHandler } from 'postern/next'
import { nodeHandler } from 'postern/node'
import * as otel from 'postern/otel'
import * as postgres from 'postern/postgres'
import * as senders from 'postern/senders'
import * as sqlite from 'postern/sqlite'
import * as testing from 'postern/testing'
import { fetchHandler } from 'postern/web'

declare const isSet: boolean
export const memory = postern.memoryStore({ max: isSet ? 10 : undefined })
export const database = sqlite.openSqlite('a.db', { driver: isSet ? 'libsql' : undefined })
export const sqliteStore = sqlite.sqliteStore({ database })
export const inbox = sqlite.sqliteInbox({ database })
export const pool = new pg.Pool()
export const wrapped = postgres.postgresStore({ pool, wrap: (client) => ({ client, n: 1 }) })
export const plain = postern.createReceiver({
  secret: 'x',
  inbox: isSet ? inbox : undefined,
  store: isSet ? memory : undefined,
})
export const note = postern.record<{ readonly text: string }>()
export const receiver = postern.createReceiver({ secret: 'x', models: { contact, note }, store: sqliteStore })
export const transacting = postern.createReceiver({
  secret: 'x',
  models: { contact },
  store: wrapped,
  events: { 'a.b': note },
})
export const chained = receiver.on('contact.created', () => {}).on('note.*', { name: 'n', order: 'latest' }, () => {})
export const { on, receive, handle, dispatch, work, workOnce, intercept, close, eventTypes } = receiver
export const expressBy = expressHandler(receiver, { source: (request) => request.params.tenant })
export const node = nodeHandler(receiver, { path: isSet ? '/a' : undefined, source: (request) => request.url })
export const next = nextHandler(receiver, { source: (request) => request.url })
export const apiBy = nextApiHandler(receiver, { source: (request: IncomingMessage & { query: object }) => request.url })
export const fetchBy = fetchHandler(receiver, {
  source: (request) => request.url,
  waitUntil: isSet ? () => {} : undefined,
})
export const fastify = (app: FastifyInstance) =>
  app.register(fastifyPlugin, {
    receiver,
    url: isSet ? '/a' : undefined,
    source: (request: FastifyRequest) => request.url,
  })
export const all = {
  captureRawBody,
  expressHandler,
  nextApiHandler,
  nextHandler,
  nodeHandler,
  fetchHandler,
  fastifyPlugin,
}
export const instrumented = otel.instrument(receiver, { parent: isSet ? true : undefined })
export const events = testing.createEvents({ seed: isSet ? 1 : undefined })
export const event = events.contact.created()
export const deal = events.model<{ readonly title: string }, 'deal'>('deal').created({ title: 'x' })
export const signed = testing.signed(event, { secret: 'x' })
export const target = testing.nodeTarget(node)
export const sender = testing.createSender({ target, secret: 'x' })
export const handled = testing.recordHandlers(receiver)
export const hub = postern.receiveFrom(senders.github<{ push: { ref: string } }>(), { secret: 'x', store: sqliteStore })
export const users = postern.receiveFrom(senders.standardWebhooks(), {
  secret: 'x',
  events: { a: postern.record<string>() },
})
export const profiles = [senders.stripe(), senders.shopify()] as const
export const tested = testing.testReceiver(receiver)
export const crm = emulator.startEmulator({ clock: isSet ? 'manual' : undefined })
export const api2 = client.createClient({ baseUrl: '', email: '', password: '' })
export const report = check.checkReceiver('http://localhost', { secret: 'x', only: isSet ? ['a'] : undefined })
