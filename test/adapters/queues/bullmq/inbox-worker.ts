/** A process that handles the items of an inbox: `inbox-worker.ts URL LOG CONCURRENCY`. */
import { appendFileSync } from 'node:fs'
import { bullmqInbox } from 'postern/bullmq'
import { workOnInbox } from '../../work-on-inbox.ts'

const [url = '', log = '', concurrency] = process.argv.slice(2)

workOnInbox({ inbox: bullmqInbox({ connection: url }) }, concurrency, (event, beside) =>
  appendFileSync(log, `${JSON.stringify({ event, beside })}\n`),
)
