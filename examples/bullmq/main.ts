/**
 * One process accepts events, two others handle them, and Bull Board shows the queue: `npx tsx examples/bullmq/main.ts`; with `--stay` it
 * runs until Ctrl-C, for you to look around. Uses REDIS_URL if it is set, or else starts its own redis-server. Exits 0 if every event was
 * handled as expected, 1 if not, 3 without a Redis.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { ExpressAdapter } from '@bull-board/express'
import { Queue } from 'bullmq'
import express from 'express'
import { expressHandler } from 'postern/express'
import { createEvents, type Sendable, signed } from 'postern/testing'
import { findRedis } from '../redis/redis-server.ts'

const SECRET = 'whsec_of_the_example'
const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url))

process.exitCode = await main()

async function main(): Promise<number> {
  const redis = await findRedis()
  if (redis === undefined) return 3
  process.env.REDIS_URL = redis.url
  process.env.WEBHOOK_SECRET = SECRET
  try {
    return await show(redis.url)
  } finally {
    await redis.stop()
  }
}

async function show(redisUrl: string): Promise<number> {
  const { receiver, close } = await import('./receiver.ts')
  const handled: { readonly pid: number; readonly id: string }[] = []
  const workers = [1, 2].map(() => fork(WORKER))
  for (const worker of workers) worker.on('message', (message: (typeof handled)[number]) => void handled.push(message))

  const queue = new Queue('postern', { connection: { url: redisUrl } })
  const board = new ExpressAdapter().setBasePath('/queues')
  createBullBoard({ queues: [new BullMQAdapter(queue)], serverAdapter: board })
  const app = express()
  app.use('/queues', board.getRouter()) // put your login before it
  app.post('/webhooks', expressHandler(receiver))
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}` // it listens on TCP

  const { contact } = createEvents()
  const events = Array.from({ length: 20 }, () => contact.created())
  const answers = await Promise.all(events.map((event) => deliver(event, at)))
  console.log(`20 events answered ${[...new Set(answers)].join(', ')}`)
  await deliver({ ...contact.created(), data: { record: { _id: 'nobody' } } }, at)
  const dead = await untilDead(at)
  console.log(`dead letter in Bull Board: ${dead.failedReason}`)
  while (handled.length < events.length) await sleep(20)
  console.log(`${new Set(handled.map(({ id }) => id)).size} handled by ${workers.length} worker processes`)

  if (process.argv.includes('--stay')) {
    console.log(`Bull Board: ${at}/queues`)
    await once(process, 'SIGINT')
  }
  server.close()
  server.closeAllConnections()
  for (const worker of workers) worker.kill('SIGTERM')
  await Promise.all(workers.map((worker) => once(worker, 'exit')))
  await queue.close()
  await close()
  return handled.length === events.length && dead.failedReason.includes('without an address') ? 0 : 1
}

async function deliver(event: Sendable, at: string): Promise<string> {
  const answer = await fetch(signed(event, { secret: SECRET }).request(`${at}/webhooks`))
  const { code } = Object(await answer.json())
  return `${answer.status} ${code}`
}

interface DeadJob {
  readonly failedReason: string
}

/** Sends the same query as the page of Bull Board. */
async function untilDead(at: string): Promise<DeadJob> {
  for (;;) {
    const answer = await fetch(`${at}/queues/api/queues?activeQueue=postern&status=failed&page=1&jobsPerPage=10`)
    const { queues }: { queues: readonly { readonly jobs: readonly DeadJob[] }[] } = Object(await answer.json())
    const job = queues[0]?.jobs[0]
    if (job !== undefined) return job
    await sleep(50)
  }
}
