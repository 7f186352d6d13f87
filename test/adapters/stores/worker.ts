/** One of several processes on an engine: `worker.ts ENGINE ADDRESS COUNT`. Its handler notes each run, in a transaction if there is one. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import pg from 'pg'
import { createReceiver, type Store } from 'postern'
import { postgresStore } from 'postern/postgres'
import { type RedisClient, redisStore } from 'postern/redis'
import { openSqlite, type SqliteDatabase, type SqliteDriver, sqliteStore } from 'postern/sqlite'
import { createClient } from 'redis'
import { sendWhenTold } from '../http/send-when-told.ts'

const [engine = '', address = '', count] = process.argv.slice(2)
const SECRET = 'whsec_worker'

interface Engine {
  readonly store: Store
  /** Notes without a transaction. */
  readonly note?: (event: string) => unknown
  /** Notes within the transaction of a handler. */
  readonly noteWithin?: (tx: never, event: string) => unknown
  readonly close: () => unknown
}

interface Transactional {
  transaction(work: (tx: never) => unknown): Promise<void>
}

async function openRedis(client: RedisClient): Promise<Engine> {
  const admin = new Redis(address)
  const note = (event: string) => admin.rpush('runs', `${event} ${process.pid}`)
  return { store: redisStore({ client }), note, close: () => process.exit() }
}

async function open(): Promise<Engine> {
  // node-redis gets no listener for errors, as in many apps: a lost connection must not end the process even then.
  if (engine === 'node-redis') return openRedis(await createClient({ url: address }).connect())
  if (engine === 'ioredis') return openRedis(new Redis(address))
  if (engine === 'postgres') {
    const pool = new pg.Pool({ connectionString: address, max: 6 })
    const insert = (on: pg.Pool | pg.PoolClient, table: string, event: string) =>
      on.query(`INSERT INTO ${table} VALUES ($1, $2)`, [event, process.pid])
    return {
      store: postgresStore({ pool }),
      note: (event) => insert(pool, 'runs', event),
      noteWithin: (tx: pg.PoolClient, event) => insert(tx, 'effects', event),
      close: () => pool.end(), // the connection that the store keeps must not delay it
    }
  }
  const database = openSqlite(address, { driver: engine as SqliteDriver }) // the test names one
  return {
    store: sqliteStore({ database }),
    noteWithin: (tx: SqliteDatabase, event) => tx.prepare('INSERT INTO effects VALUES (?, ?)').run(event, process.pid),
    close: () => database.close(),
  }
}

const { store, note, noteWithin, close } = await open()
const receiver = createReceiver({
  secret: SECRET,
  leaseMs: 6_000,
  store,
  logger: { debug() {}, info() {}, warn() {}, error: (fields, message) => console.error(message, fields) },
})
if (note !== undefined)
  receiver.on('contact.created', { name: 'plain' }, async ({ id }) => {
    await note(id)
  })
if (noteWithin !== undefined)
  receiver.on('contact.created', { name: 'once' }, async ({ id }, context) => {
    await sleep(Math.random() * 3)
    await (context as object as Transactional).transaction((tx) => noteWithin(tx, id)) // the store has them
  })

await sendWhenTold(receiver, SECRET, Number(count))
await receiver.close()
await close()
process.disconnect()
