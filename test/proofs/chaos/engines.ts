import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import pg from 'pg'
import {
  type HandlerContext,
  type Inbox,
  memoryStore,
  type PosternError,
  type Store,
  type SyncTransactionContext,
  type TransactionContext,
} from 'postern'
import { bullmqInbox } from 'postern/bullmq'
import { postgresInbox, postgresStore } from 'postern/postgres'
import { redisStore } from 'postern/redis'
import { openSqlite, type SqliteDatabase, type SqliteDriver, sqliteInbox, sqliteStore } from 'postern/sqlite'
import { createClient } from 'redis'
import type { EngineAddress } from './messages.ts'

/** An engine's store in a worker. */
export interface OpenStore {
  readonly store: Store
  readonly inbox?: Inbox
  /** Writes a row of the user's own, together with the handler's finish mark; omitted if the run has no transactions. */
  readonly writeEffect?: (eventId: string, context: HandlerContext) => Promise<unknown>
  close(): Promise<void> | void
}

/** Workers of one engine use different clients and drivers, as processes of different apps would. */
function pick<T>(...all: readonly [T, ...T[]]): T {
  return all[process.pid % all.length] ?? all[0]
}

export async function openStore({ name, at }: EngineAddress): Promise<OpenStore> {
  if (name === 'memory') return { store: memoryStore(), close() {} }
  const hasInbox = name.startsWith('inbox-')
  if (name.includes('redis')) {
    const opened = await pick(openRedis, openIoRedis)(at)
    return hasInbox ? withBullmq(opened, at) : opened
  }
  if (name.includes('sqlite')) {
    const opened = await openFile(at, hasInbox)
    return /sqlite$|lanes$/.test(name) ? opened : { ...opened, writeEffect: writeToSqlite }
  }
  const pool = new pg.Pool({ connectionString: at })
  pool.on('error', () => {}) // it connects again by itself
  return {
    store: postgresStore({ pool }),
    close: () => pool.end(),
    ...(hasInbox && { inbox: postgresInbox({ pool }) }),
    ...(name.endsWith('-transaction') && { writeEffect: writeToPostgres }),
  }
}

async function openRedis(url: string): Promise<OpenStore> {
  const client = createClient({ url })
  client.on('error', () => {}) // it connects again by itself
  await client.connect()
  return { store: redisStore({ client }), close: () => client.close() }
}

async function openIoRedis(url: string): Promise<OpenStore> {
  const client = new Redis(url)
  client.on('error', () => {}) // it connects again by itself
  return { store: redisStore({ client }), close: () => void client.disconnect() }
}

function openDatabase(path: string): SqliteDatabase {
  const driver = pick<SqliteDriver>('libsql', 'better-sqlite3')
  return openSqlite(path, isInstalled(driver) ? { driver } : {})
}

function isInstalled(driver: SqliteDriver): boolean {
  try {
    createRequire(import.meta.url)(driver)
    return true
  } catch {
    return false
  }
}

/** Store and inbox on one server. */
function withBullmq({ store, close }: OpenStore, at: string): OpenStore {
  const inbox = bullmqInbox({ connection: at })
  return {
    store,
    inbox,
    async close() {
      await inbox.close()
      await close()
    },
  }
}

/** Repeats it while the file is locked or its disk is full, as a supervisor would. */
async function openFile(path: string, hasInbox: boolean): Promise<OpenStore> {
  for (;;) {
    let database: SqliteDatabase | undefined
    try {
      const opened = openDatabase(path)
      database = opened
      const inbox = hasInbox && { inbox: sqliteInbox({ database }) }
      return { store: sqliteStore({ database }), ...inbox, close: () => opened.close() }
    } catch (error) {
      database?.close()
      if ((error as PosternError).code !== 'database_unusable') throw error // nothing else is thrown
    }
    await sleep(200)
  }
}

function writeToPostgres(eventId: string, context: HandlerContext): Promise<unknown> {
  const { transaction } = context as TransactionContext<pg.PoolClient> // the receiver uses a store of Postgres
  return transaction((tx) => tx.query('INSERT INTO effects (event_id) VALUES ($1)', [eventId]))
}

function writeToSqlite(eventId: string, context: HandlerContext): Promise<unknown> {
  const { transaction } = context as SyncTransactionContext<SqliteDatabase> // the receiver uses a store of SQLite
  return transaction((tx) => tx.prepare('INSERT INTO effects (event_id) VALUES (?)').run(eventId))
}
