/** A process that works on an inbox: `inbox-worker.ts URL LOG CONCURRENCY`. An event whose record says so kills it. */
import { appendFileSync } from 'node:fs'
import { createReceiver, systemClock } from 'postern'
import { bullmqInbox } from 'postern/bullmq'

const [url = '', log = '', concurrency] = process.argv.slice(2)

const receiver = createReceiver({
  secret: 'whsec_worker',
  leaseMs: 2_000,
  inbox: bullmqInbox({ connection: url }),
  logger: { debug() {}, info() {}, warn() {}, error: (_fields, message) => console.error(message) },
})
let running = 0
receiver.on('contact.created', async (event) => {
  running++
  const { record } = event.data
  appendFileSync(log, `${JSON.stringify({ event: event.id, pid: process.pid, beside: running - 1 })}\n`)
  if (record.isKiller === true) process.kill(process.pid, 'SIGKILL')
  if (typeof record.ms === 'number')
    await new Promise<void>((resolve) => systemClock.setTimeout(resolve, Number(record.ms)))
  running--
})
receiver.work({ concurrency: Number(concurrency), delay: () => 100 })
process.send?.('ready')
process.on('disconnect', () => process.exit())
