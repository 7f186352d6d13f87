/** A process that handles the items of an inbox: `worker.ts redis|postgres URL LOG`. An event whose record says so kills it. */
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { createReceiver } from 'postern'
import { bullmqInbox } from 'postern/bullmq'
import { postgresInbox } from 'postern/postgres'

const [engine, url = '', log = ''] = process.argv.slice(2)

const inbox =
  engine === 'redis'
    ? bullmqInbox({ connection: url })
    : postgresInbox({ pool: new pg.Pool({ connectionString: url }) })

const receiver = createReceiver({
  secret: 'whsec_worker',
  leaseMs: 2_000,
  inbox,
  logger: { debug() {}, info() {}, warn() {}, error: (_fields, message) => console.error(message) },
})
let running = 0
receiver.on('contact.created', async ({ id, data: { record } }) => {
  appendFileSync(log, `${JSON.stringify({ event: id, beside: running++ })}\n`)
  if (record.isKiller === true) process.kill(process.pid, 'SIGKILL')
  await sleep(Number(record.ms ?? 0))
  running--
})
receiver.work({ concurrency: 10, delay: () => 100 })
process.send?.('ready')
process.on('disconnect', () => process.exit())
