/**
 * Accepts events into an inbox on BullMQ: `bullmq-worker.mjs URL bare|postern`. `bare` inserts bytes by a unique id, by the same client.
 * `{ fill }` adds so many jobs, and `{ counts }` answers with the time of a count.
 */
import { createRedisBackend } from 'bullmq'
import { Redis } from 'ioredis'
import { bullmqInbox } from '../../dist/bullmq.js'
import { acceptBare, answerFor, fail, makeEvent, makeReceiver } from './contest.mjs'

const [url, kind] = process.argv.slice(2)
answerFor(kind === 'bare' ? makeBare() : makePostern())

function makeBare() {
  const redis = new Redis(url)
  return { accept: acceptBare((id, body) => redis.set(`bare:${id}`, body, 'NX')) }
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
  const jobs = createRedisBackend('postern', { connection: { url } })
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
