/** One process of several on a server: `worker.ts URL COUNT`. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { createReceiver } from 'postern'
import { postgresStore } from 'postern/postgres'
import { sendWhenTold } from '../../http/send-when-told.ts'

const [connectionString, count] = process.argv.slice(2)
const SECRET = 'whsec_worker'

const pool = new pg.Pool({ connectionString, max: 6 })
const store = postgresStore({ pool })
await store.migrate()
const receiver = createReceiver({
  secret: SECRET,
  leaseMs: 2_000,
  store,
  logger: { debug() {}, info() {}, warn() {}, error: (fields, message) => console.error(message, fields) },
})
receiver
  .on('contact.created', { name: 'once' }, async (event, { transaction }) => {
    await sleep(Math.random() * 3)
    await transaction((tx) => tx.query('INSERT INTO effects VALUES ($1, $2)', [event.id, process.pid]))
  })
  .on('contact.created', { name: 'plain' }, async (event) => {
    await pool.query('INSERT INTO runs VALUES ($1, $2)', [event.id, process.pid])
  })

await sendWhenTold(receiver, SECRET, Number(count))
await receiver.close()
await pool.end() // the connection that the store keeps must not delay it
process.disconnect()
