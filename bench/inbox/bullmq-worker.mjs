/**
 * Accepts events into an inbox on BullMQ: `bullmq-worker.mjs redis|postgres URL bare|postern`. `bare` inserts bytes by a unique id, by the
 * same client. `{ fill }` adds so many jobs, and `{ counts }` answers with the time of a count.
 */
import { createPostgresBackend, createRedisBackend } from 'bullmq'
import { Redis } from 'ioredis'
import pg from 'pg'
import { bullmqInbox, migrateBullmq } from '../../dist/bullmq.js'
import { acceptBare, answerFor, fail, makeEvent, makeReceiver } from './contest.mjs'

const [backend, url, kind] = process.argv.slice(2)
if (backend === 'postgres') await migrateBullmq(url)
answerFor(kind === 'bare' ? await makeBare() : makePostern())

async function makeBare() {
  return { accept: acceptBare(backend === 'redis' ? insertIntoRedis() : await insertIntoPostgres()) }
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
  return {
    ...makeReceiver({ inbox, logger: { debug() {}, info() {}, warn() {}, error() {} } }),
    fill,
    async counts() {
      const asked = performance.now()
      await inbox.counts()
      return { ms: performance.now() - asked }
    },
  }
}

/** Adds jobs, with the turns that the inbox would have assigned to them. */
async function fill(count) {
  const jobs =
    backend === 'redis'
      ? createRedisBackend('postern', { connection: { url } })
      : createPostgresBackend('postern', { connection: url })
  jobs.on('error', ({ message }) => fail(message))
  for (let from = 0; from < count; from += 1_000) {
    const entries = Array.from({ length: 1_000 }, (_, n) => {
      const { id, account: accountKey, key, text } = makeEvent(n)
      const data = JSON.stringify({ key, accountKey, id, type: 'contact.created', receivedAt: 0, text })
      const priority = 10 + Math.floor(from / 1_000)
      const jobId = `e-${key.replaceAll(':', '=3a')}`
      const opts = { attempts: 1, priority, removeOnComplete: true }
      return { jobId, job: { id: jobId, name: 'contact.created', data, opts, priority, timestamp: Date.now() } }
    })
    await jobs.addJobs(entries)
  }
  await jobs.close()
}
