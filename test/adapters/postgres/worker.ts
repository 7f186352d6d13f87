/**
 * One process of several on a server: `worker.ts URL COUNT`. Gets every event, in an order of its own, and sends each until it is
 * acknowledged. Tells so by a line at once, before anything else is done, as a 2xx over the network would be.
 */
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { createReceiver } from 'postern'
import { postgresStore } from 'postern/postgres'
import { events, signed } from 'postern/testing'

const [connectionString, count] = process.argv.slice(2)
const SECRET = 'whsec_worker'
const BESIDE_EACH_OTHER = 16

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

const ids = Array.from({ length: Number(count) }, (_, index) => `evt_${index}`).sort(() => Math.random() - 0.5)

async function send(id: string): Promise<void> {
  const { bytes, signature } = signed(events.contact.created({}, { id, accountKey: 'acme' }), { secret: SECRET })
  for (;;) {
    const { status } = await receiver.receive({ body: bytes, signature })
    if (status === 200) break
    await sleep(50)
  }
  writeSync(1, `${id}\n`)
}

process.send?.('ready')
process.once('message', async () => {
  await Promise.all(
    Array.from({ length: BESIDE_EACH_OTHER }, async () => {
      for (let id = ids.pop(); id !== undefined; id = ids.pop()) await send(id)
    }),
  )
  await receiver.close()
  await pool.end() // which the connection that the store keeps must not hold up
  process.disconnect()
})
