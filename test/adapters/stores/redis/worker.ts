import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createReceiver } from 'postern'
import { nodeHandler } from 'postern/node'
import { type RedisClient, redisStore } from 'postern/redis'
import { createClient } from 'redis'

// One of several processes behind one service. It reports to its parent the start and the end of every run of its handler.

const { REDIS_URL = '', CLIENT = '', HANGS, WEBHOOK_SECRET = '' } = process.env

async function connect(): Promise<RedisClient> {
  // node-redis gets no listener for errors, as in many apps: a lost connection must not end the process even then.
  if (CLIENT === 'redis') return await createClient({ url: REDIS_URL }).connect()
  return new Redis(REDIS_URL).on('error', () => {})
}

const store = redisStore({ client: await connect() })
const logger = { debug() {}, info() {}, warn() {}, error() {} }
const receiver = createReceiver({ secret: WEBHOOK_SECRET, store, leaseMs: 2_000, deadlineMs: 1_000, logger })
receiver.on('contact.created', async (event) => {
  process.send?.({ ran: event.id })
  await sleep(HANGS === '1' && event.data.record._id === 'hang' ? 60_000 : 5)
  process.send?.({ finished: event.id })
})
const server = createServer(nodeHandler(receiver)).listen(0, '127.0.0.1', () =>
  process.send?.({ address: server.address() }),
)
