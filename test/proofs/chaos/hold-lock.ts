/** Another process that has the file locked: `hold-lock.ts FILE MILLISECONDS`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { openSqlite } from 'postern/sqlite'

const [path = '', ms] = process.argv.slice(2)
const database = openSqlite(path, { busyTimeoutMs: 4_000 })
database.exec('BEGIN IMMEDIATE')
process.send?.('locked')
await sleep(Number(ms))
process.send?.('unlocks')
database.exec('ROLLBACK')
database.close()
process.disconnect()
