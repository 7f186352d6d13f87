/**
 * A receiver on Postgres whose handler writes exactly once: the contact, the total and the handler's own finish mark are one commit.
 * `DATABASE_URL=postgres://… WEBHOOK_SECRET=… npx tsx examples/postgres/main.ts`. Start as many as you like, on other ports.
 */
import { createServer } from 'node:http'
import pg from 'pg'
import { createReceiver } from 'postern'
import { contact } from 'postern/models'
import { nodeHandler } from 'postern/node'
import { postgresStore } from 'postern/postgres'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
const store = postgresStore({ pool })
await store.migrate()
await pool.query('CREATE TABLE IF NOT EXISTS contacts (id text PRIMARY KEY, email text)')
await pool.query('CREATE TABLE IF NOT EXISTS totals (name text PRIMARY KEY, count integer NOT NULL)')

const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET, models: { contact }, store })

receiver.on('contact.created', { name: 'save' }, async (event, context) => {
  const { _id, email } = event.data.record
  await context.transaction(async (tx) => {
    await tx.query('INSERT INTO contacts VALUES ($1, $2) ON CONFLICT (id) DO NOTHING', [_id, email])
    await tx.query(
      `INSERT INTO totals AS t VALUES ('contacts', 1) ON CONFLICT (name) DO UPDATE SET count = t.count + 1`,
    )
  })
})

const server = createServer(nodeHandler(receiver, { path: '/webhooks' }))
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')

process.once('SIGTERM', async () => {
  server.close()
  await receiver.close()
  await pool.end()
})
