/**
 * Several processes behind one port share one memory in Redis: `npx tsx examples/redis/main.ts`. Every event is sent three times
 * concurrently, and one process is killed while it handles an event. Uses REDIS_URL if it is set, or else starts its own redis-server.
 * Exits 0 if every event was handled as expected, 1 if not, 3 without a Redis.
 */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { createEvents, type Sendable, signed } from 'postern/testing'
import { findFreePort, findRedis } from './redis-server.ts'
import { runWorker, type Started } from './worker.ts'

const SECRET = 'whsec_of_the_example'
const PROCESSES = 3
const EVENTS = 20
const RETRY_AFTER_MS = 500 // the service waits 30 s

if (cluster.isPrimary) process.exitCode = await main()
else await runWorker(process.env.REDIS_URL ?? '', Number(process.env.PORT))

async function main(): Promise<number> {
  const redis = await findRedis()
  if (redis === undefined) return 3
  try {
    return await show(redis.url)
  } finally {
    await redis.stop()
  }
}

async function show(redisUrl: string): Promise<number> {
  const port = await findFreePort()
  const runs: Started[] = []
  const env = { REDIS_URL: redisUrl, PORT: String(port), WEBHOOK_SECRET: SECRET }
  const workers = Array.from({ length: PROCESSES }, () => cluster.fork(env))
  for (const worker of workers) worker.on('message', (started: Started) => runs.push(started))
  await Promise.all(workers.map((worker) => once(worker, 'listening')))
  console.log(`${PROCESSES} processes on http://127.0.0.1:${port}/webhooks, one Redis at ${redisUrl}`)
  const runsOf = (event: { readonly id: string }) => runs.filter(({ eventId }) => eventId === event.id)
  const url = `http://127.0.0.1:${port}/webhooks`

  const { contact } = createEvents()
  const events = Array.from({ length: EVENTS }, () => contact.created())
  await Promise.all(events.flatMap((event) => [1, 2, 3].map(() => deliver(event, url))))
  const counts = events.map((event) => runsOf(event).length)
  for (const { process: each } of workers)
    console.log(`  process ${each.pid} handled ${runs.filter(({ pid }) => pid === each.pid).length} events`)
  console.log(`${EVENTS} events in three copies each: ${counts.filter((count) => count === 1).length} handled once`)

  const slow = contact.created({ firstName: 'Slow' })
  const answers = deliver(slow, url)
  while (runsOf(slow).length === 0) await sleep(10)
  const victim = workers.find((worker) => worker.process.pid === runsOf(slow)[0]?.pid)
  victim?.process.kill('SIGKILL')
  console.log(`process ${victim?.process.pid} was killed while it handled an event; the attempts at it were answered`)
  console.log(`  ${(await answers).map((status) => status || 'cut off').join(', ')}`)
  const takers = runsOf(slow).map(({ pid }) => pid)
  console.log(`  and process ${takers.at(-1)} handled it, once the claim of the dead one had run out`)

  await Promise.all(workers.filter((worker) => worker !== victim).map(stop))
  const isRight = counts.every((count) => count === 1) && takers.length === 2 && takers[0] !== takers[1]
  console.log(isRight ? 'all as it should be' : 'NOT as it should be')
  return isRight ? 0 : 1
}

/** Sends until the delivery is acknowledged, as the service does, and returns every status; 0 if the connection was lost. */
async function deliver(event: Sendable, url: string): Promise<readonly number[]> {
  const statuses: number[] = []
  for (;;) {
    const answer = await fetch(signed(event, { secret: SECRET }).request(url)).catch(() => undefined)
    await answer?.arrayBuffer()
    statuses.push(answer?.status ?? 0)
    if (answer?.ok) return statuses
    await sleep(RETRY_AFTER_MS)
  }
}

async function stop(worker: Worker): Promise<void> {
  const ended = once(worker, 'exit')
  worker.process.kill('SIGTERM')
  await ended
}
