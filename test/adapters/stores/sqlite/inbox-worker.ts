/** A process that works on an inbox: `inbox-worker.ts FILE DRIVER CONCURRENCY`. An event whose record says so kills it. */
import { createReceiver, systemClock } from 'postern'
import { openSqlite, type SqliteDriver, sqliteInbox, sqliteStore } from 'postern/sqlite'

const [path = '', driver, concurrency] = process.argv.slice(2)

const database = openSqlite(path, { driver: driver as SqliteDriver }) // the test names one
database.exec('CREATE TABLE IF NOT EXISTS runs (event TEXT, pid INTEGER, beside INTEGER, marks TEXT)')
const insert = database.prepare('INSERT INTO runs VALUES (?, ?, ?, ?)')
const receiver = createReceiver({
  secret: 'whsec_worker',
  leaseMs: 2_000,
  store: sqliteStore({ database }),
  inbox: sqliteInbox({ database }),
  logger: { debug() {}, info() {}, warn() {}, error: (_fields, message) => console.error(message) },
})
let running = 0
receiver.on('contact.created', async (event) => {
  running++
  const { record } = event.data
  insert.run(event.id, process.pid, running - 1, null)
  if (record.isKiller === true) process.kill(process.pid, 'SIGKILL')
  if (typeof record.ms === 'number')
    await new Promise<void>((resolve) => systemClock.setTimeout(resolve, Number(record.ms)))
  running--
})
receiver.work({ concurrency: Number(concurrency), delay: () => 100 })
process.send?.('ready')
process.on('disconnect', () => process.exit())
