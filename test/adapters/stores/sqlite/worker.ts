/** One process of several on a file: `worker.ts FILE DRIVER COUNT`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver } from 'postern'
import { openSqlite, type SqliteDriver, sqliteStore } from 'postern/sqlite'
import { sendWhenTold } from '../../http/send-when-told.ts'

const [path = '', driver, count] = process.argv.slice(2)
const SECRET = 'whsec_worker'

const database = openSqlite(path, { driver: driver as SqliteDriver }) // the test names one
database.transaction(() => database.exec('CREATE TABLE IF NOT EXISTS effects (event TEXT, pid INTEGER)'))
const insert = database.prepare('INSERT INTO effects VALUES (?, ?)')
const receiver = createReceiver({
  secret: SECRET,
  leaseMs: 6_000,
  store: sqliteStore({ database }),
  logger: { debug() {}, info() {}, warn() {}, error: (fields, message) => console.error(message, fields) },
})
receiver.on('contact.created', async (event, { transaction }) => {
  await sleep(Math.random() * 3)
  await transaction(() => insert.run(event.id, process.pid))
})

await sendWhenTold(receiver, SECRET, Number(count))
process.disconnect()
