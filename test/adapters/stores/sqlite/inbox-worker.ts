/** A process that handles the items of an inbox: `inbox-worker.ts FILE DRIVER CONCURRENCY`. */
import { openSqlite, type SqliteDriver, sqliteInbox, sqliteStore } from 'postern/sqlite'
import { workOnInbox } from '../../work-on-inbox.ts'

const [path = '', driver, concurrency] = process.argv.slice(2)

const database = openSqlite(path, { driver: driver as SqliteDriver }) // the test names one
database.exec('CREATE TABLE IF NOT EXISTS runs (event TEXT, beside INTEGER)')
const insert = database.prepare('INSERT INTO runs VALUES (?, ?)')
const engines = { store: sqliteStore({ database }), inbox: sqliteInbox({ database }) }
workOnInbox(engines, concurrency, (eventId, beside) => void insert.run(eventId, beside))
