/**
 * One process of several on a file: `worker.ts FILE DRIVER COUNT`. Gets every event, in an order of its own, and sends each
 * until it is acknowledged. Tells so by a line at once, before anything else is done, as a 2xx over the network would be.
 */
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver } from 'postern'
import { openSqlite, type SqliteDriver, sqliteStore } from 'postern/sqlite'
import { events, signed } from 'postern/testing'

const [path = '', driver, count] = process.argv.slice(2)
const SECRET = 'whsec_worker'
const BESIDE_EACH_OTHER = 16

const database = openSqlite(path, { driver: driver as SqliteDriver }) // the test names one
database.transaction(() => database.exec('CREATE TABLE IF NOT EXISTS effects (event TEXT, pid INTEGER)'))
const insert = database.prepare('INSERT INTO effects VALUES (?, ?)')
const receiver = createReceiver({
  secret: SECRET,
  leaseMs: 2_000,
  store: sqliteStore({ database }),
  logger: { debug() {}, info() {}, warn() {}, error: (fields, message) => console.error(message, fields) },
})
receiver.on('contact.created', async (event, { transaction }) => {
  await sleep(Math.random() * 3)
  await transaction(() => insert.run(event.id, process.pid))
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
  process.disconnect()
})
