/** A process that handles the items of an inbox: `worker.ts redis|postgres URL LOG CONCURRENCY`. */
import { appendFileSync } from 'node:fs'
import pg from 'pg'
import { bullmqInbox } from 'postern/bullmq'
import { postgresInbox } from 'postern/postgres'
import { workOnInbox } from '../work-on-inbox.ts'

const [engine, url = '', log = '', concurrency] = process.argv.slice(2)

const inbox =
  engine === 'redis'
    ? bullmqInbox({ connection: url })
    : postgresInbox({ pool: new pg.Pool({ connectionString: url }) })
workOnInbox({ inbox }, concurrency, (event, beside) => appendFileSync(log, `${JSON.stringify({ event, beside })}\n`))
