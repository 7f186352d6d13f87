// Sends one delivery through each entry of the package, and prints the statuses. test/bundles.test.ts bundles it.
import { createServer } from 'node:http'
import fastify from 'fastify'
import { createReceiver, sign } from 'postern'
import { bullmqInbox } from 'postern/bullmq'
import { createClient } from 'postern/client'
import { expressHandler } from 'postern/express'
import { fastifyPlugin } from 'postern/fastify'
import { contact } from 'postern/models'
import { nextApiHandler, nextHandler } from 'postern/next'
import { nodeHandler } from 'postern/node'
import { instrument } from 'postern/otel'
import { postgresStore } from 'postern/postgres'
import { redisStore } from 'postern/redis'
import { openSqlite, sqliteStore } from 'postern/sqlite'
import { events, signed, silentLogger } from 'postern/testing'
import { fetchHandler } from 'postern/web'

const secret = 'test-secret'
const createOne = (options) => createReceiver({ secret, logger: silentLogger, ...options }).on('*', () => {})
const event = events.contact.created()
const request = (url) => signed(event, { secret }).request(url)
const receive = async (options) => (await createOne(options).receive(signed(event, { secret }))).status

async function serve(listener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { status } = await fetch(request(`http://127.0.0.1:${server.address().port}/`))
  server.close()
  return status
}

async function throughFastify() {
  const app = fastify()
  await app.register(fastifyPlugin, { receiver: createOne() })
  const { method, headers } = request('http://127.0.0.1/')
  const payload = Buffer.from(signed(event, { secret }).body)
  const answer = await app.inject({ method, url: '/', headers: Object.fromEntries(headers), payload })
  await app.close()
  return answer.statusCode
}

async function throughOtel() {
  const receiver = createOne()
  instrument(receiver)
  return (await receiver.receive(signed(event, { secret }))).status
}

const away = async () => {
  throw new Error('no engine here')
}
async function main() {
  const database = openSqlite(process.argv[2])
  const inbox = bullmqInbox({ connection: 'redis://127.0.0.1:1' })
  const express = expressHandler(createOne())
  const client = createClient({
    baseUrl: 'http://127.0.0.1:1',
    email: 'a',
    password: 'b',
    maxRetries: 0,
    logger: silentLogger,
    fetch: away,
  })
  const body = JSON.stringify(event)

  console.log(
    JSON.stringify({
      index: (await createOne().receive({ body: Buffer.from(body), signature: sign(body, secret) })).status,
      express: await serve((request, response) => express(request, response, () => {})),
      fastify: await throughFastify(),
      next: (await nextHandler(createOne())(request())).status,
      'next, Pages Router': await serve(nextApiHandler(createOne())),
      node: await serve(nodeHandler(createOne())),
      web: (await fetchHandler(createOne())(request())).status,
      models: await receive({ models: { contact } }),
      otel: await throughOtel(),
      sqlite: await receive({ store: sqliteStore({ database }) }),
      postgres: await receive({
        store: postgresStore({ pool: { connect: away, query: away, on() {}, options: { max: 10 } } }),
      }),
      redis: await receive({ store: redisStore({ client: { status: 'ready', evalsha: away, eval: away } }) }),
      bullmq: await receive({ inbox }),
      client: await client.webhooks.list().catch((error) => error.code),
    }),
  )
  process.exit()
}

main()
