/**
 * Runs the contract of a store or an inbox in the runtime that runs this program: `suites.js sqliteStore libsql`. The engine, which
 * ENGINE_URL names, runs elsewhere: a POST to CONTROL_URL takes it away and brings it back. prepare.ts bundles the inbox suite into this file.
 */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { Redis } from 'ioredis'
import pg from 'pg'
import { postgresStore } from 'postern/postgres'
import { redisStore } from 'postern/redis'
import { openSqlite, sqliteInbox, sqliteStore } from 'postern/sqlite'
import { storeSuite } from 'postern/testing'
import { createClient } from 'redis'
import { inboxSuite } from '../../../test/support/inbox-suite/inbox-suite.ts'

/** Cases in progress: most wait for leases to end, and all of them together would be late. */
const AT_ONCE = 16
const { ENGINE_URL: url, CONTROL_URL: control } = process.env
const [, , name, client] = process.argv

const command = async (what) => {
  const response = await fetch(`${control}/${what}`, { method: 'POST' })
  if (!response.ok) throw new Error(await response.text())
}
const outage = { begin: () => command('begin'), end: () => command('end') }

/** Opens one file for each store and inbox, as separate processes do. */
const folder = mkdtempSync('suite-')
const open = () => openSqlite(join(folder, 'suite.db'), { driver: client })

const suites = {
  sqliteStore() {
    const other = open()
    other.exec('CREATE TABLE suite_rows (name TEXT PRIMARY KEY) STRICT')
    const lock = () => {
      for (;;)
        try {
          return other.exec('BEGIN EXCLUSIVE')
        } catch {} // the store is writing right now
    }
    return storeSuite((options) => sqliteStore({ database: open(), ...options }), {
      hasOwnClock: false,
      transaction: {
        isAsynchronous: false,
        write: (tx, row) => tx.prepare('INSERT INTO suite_rows VALUES (?)').run(row),
        has: (row) => other.prepare('SELECT 1 FROM suite_rows WHERE name = ?').get(row) !== undefined,
      },
      outage: { begin: lock, end: () => other.exec('COMMIT') },
    })
  },
  sqliteInbox: () => inboxSuite((table) => sqliteInbox({ database: open(), table })),
  redisStore() {
    const clients = {
      redis: () => createClient({ url }).connect(),
      ioredis: () => new Redis(url).on('error', () => {}), // its server is taken away
    }
    return storeSuite(async (options) => redisStore({ client: await clients[client](), ...options }), { outage })
  },
  async postgresStore() {
    const openPool = () => new pg.Pool({ connectionString: url, max: 5 })
    const rows = openPool().on('error', () => {}) // its server is taken away
    await rows.query('CREATE TABLE suite_rows (name text PRIMARY KEY)')
    const makeStore = async (options) => {
      const store = postgresStore({ pool: openPool(), ...options })
      await store.migrate()
      return store
    }
    const transaction = {
      write: (tx, row) => tx.query('INSERT INTO suite_rows VALUES ($1)', [row]),
      has: async (row) => (await rows.query('SELECT 1 FROM suite_rows WHERE name = $1', [row])).rowCount === 1,
    }
    return storeSuite(makeStore, { transaction, outage })
  },
}

const counts = { passed: 0, failed: 0 }
const runAll = async (cases) => {
  for (let next = cases.shift(); next !== undefined; next = cases.shift())
    try {
      await next.run()
      counts.passed++
    } catch (error) {
      counts.failed++
      console.error(next.name, error)
    }
}
const cases = await suites[name]()
const waiting = cases.filter(({ takesEngineAway }) => takesEngineAway !== true)
await Promise.all(Array.from({ length: AT_ONCE }, () => runAll(waiting)))
await runAll(cases.filter(({ takesEngineAway }) => takesEngineAway === true))
console.log(`${counts.passed} passed, ${counts.failed} failed`)
process.exit(counts.failed === 0 ? 0 : 1) // clients are still connected
