/**
 * One who accepts events into an inbox on BullMQ: `bullmq-worker.mjs redis|postgres URL bare|postern`. `bare` checks the signature,
 * parses the body and inserts its bytes by a unique id, by the same client.
 *
 * `{ accept, beside }` answers with the figures of so many new events, `{ fill }` adds so many jobs, `{ work }` works so many off with
 * handlers that do nothing, and `{ counts }` answers with the time of a count.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createPostgresBackend, createRedisBackend } from 'bullmq'
import { Redis } from 'ioredis'
import pg from 'pg'
import { bullmqInbox, migrateBullmq } from '../../dist/bullmq.js'
import { createReceiver, sign } from '../../dist/index.js'
import { answer, startCpu } from '../answer.mjs'
import { makeBody } from '../deliveries.mjs'

const SECRET = 'whsec_bench'
const SIZE = 611
const [backend, url, kind] = process.argv.slice(2)
if (backend === 'postgres') await migrateBullmq(url)
const contestant = kind === 'bare' ? await makeBare() : makePostern()

async function makeBare() {
  const insert = backend === 'redis' ? insertIntoRedis() : await insertIntoPostgres()
  return {
    accept: async (body, signature) => {
      const digest = createHmac('sha256', SECRET).update(body).digest()
      const given = Buffer.from(signature.slice(7), 'hex')
      if (given.length !== digest.length || !timingSafeEqual(given, digest)) return 401
      await insert(JSON.parse(body.toString()).id, body)
      return 200
    },
  }
}

function insertIntoRedis() {
  const redis = new Redis(url)
  return (id, body) => redis.set(`bare:${id}`, body, 'NX')
}

async function insertIntoPostgres() {
  const pool = new pg.Pool({ connectionString: url })
  await pool.query('CREATE TABLE bare (id text PRIMARY KEY, bytes bytea NOT NULL)')
  return (id, body) => pool.query('INSERT INTO bare VALUES ($1, $2) ON CONFLICT DO NOTHING', [id, body])
}

function makePostern() {
  const inbox = bullmqInbox({ connection: url })
  const receiver = createReceiver({
    secret: SECRET,
    inbox,
    onError: ({ message, cause }) => fail(`${message} ${cause}`),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  })
  let ran = 0
  let onRun = () => {}
  receiver.on('contact.created', () => {
    ran++
    onRun()
  })
  return {
    accept: async (body, signature) => (await receiver.receive({ body, signature })).status,
    fill,
    async counts() {
      const asked = performance.now()
      await inbox.counts()
      return { ms: performance.now() - asked }
    },
    async work(events) {
      const until = ran + events
      const done = new Promise((resolve) => {
        onRun = () => ran >= until && resolve()
      })
      let worker
      const figures = await measure(events, async () => {
        worker = receiver.work({ concurrency: 100 })
        await done
      })
      await worker.close()
      return figures
    },
  }
}

/** Jobs of a hundred accounts, with the turns that they would have been given. */
async function fill(count) {
  const jobs =
    backend === 'redis'
      ? createRedisBackend('postern', { connection: { url } })
      : createPostgresBackend('postern', { connection: url })
  jobs.on('error', ({ message }) => fail(message))
  for (let from = 0; from < count; from += 1_000) {
    const entries = Array.from({ length: 1_000 }, (_, n) => {
      const { id, body } = makeBody(SIZE)
      const accountKey = `account-${n % 100}`
      const text = body.toString().replace('"acme"', `"${accountKey}"`)
      const key = `7:default${accountKey.length}:${accountKey}${id.length}:${id}`
      const data = JSON.stringify({ key, accountKey, id, type: 'contact.created', receivedAt: 0, text })
      const priority = 10 + Math.floor(from / 1_000)
      const jobId = `e-${key.replaceAll(':', '=3a')}`
      const opts = { attempts: 1, priority, removeOnComplete: true }
      return { jobId, job: { id: jobId, name: 'contact.created', data, opts, priority, timestamp: Date.now() } }
    })
    await jobs.addJobs(entries)
  }
  await jobs.close()
  return { cpu: 0, rate: 0 }
}

async function measure(events, work) {
  const started = performance.now()
  const readCpu = startCpu()
  await work()
  return { cpu: readCpu() / events, rate: (events / (performance.now() - started)) * 1_000 }
}

/** A figure of events that fail is none. */
function fail(message) {
  console.error(message)
  process.exit(1)
}

async function accept(events, beside) {
  const deliveries = Array.from({ length: events }, () => {
    const { body } = makeBody(SIZE)
    return { body, signature: sign(body, SECRET) }
  })
  const times = []
  const figures = await measure(events, () =>
    Promise.all(
      Array.from({ length: beside }, async () => {
        for (let next = deliveries.pop(); next !== undefined; next = deliveries.pop()) {
          const asked = performance.now()
          if ((await contestant.accept(next.body, next.signature)) !== 200) throw new Error('an event was not accepted')
          times.push(performance.now() - asked)
        }
      }),
    ),
  )
  times.sort((a, b) => a - b)
  return { ...figures, p99: times[Math.floor(events * 0.99)] }
}

answer(async (question) => {
  if (question.counts !== undefined) return contestant.counts()
  const figures =
    question.accept !== undefined
      ? await accept(question.accept, question.beside)
      : question.work !== undefined
        ? await contestant.work(question.work)
        : await contestant.fill(question.fill)
  return { ...figures, rss: process.memoryUsage().rss / 1_048_576 }
})
