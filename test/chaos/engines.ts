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
  switch (name) {
    case 'inbox-bullmq-redis':
      return openBullmq(at)
    case 'memory':
      return { store: memoryStore(), close() {} }
    case 'redis':
      return pick(openRedis, openIoRedis)(at)
    case 'postgres':
    case 'postgres-transaction':
    case 'inbox-postgres':
    case 'inbox-postgres-transaction': {
      const pool = new pg.Pool({ connectionString: at })
      pool.on('error', () => {}) // it connects again by itself
      return {
        ...{ store: postgresStore({ pool }), close: () => pool.end() },
        ...(name.startsWith('inbox-') && { inbox: postgresInbox({ pool }) }),
        ...(name.endsWith('-transaction') && { writeEffect: writeToPostgres }),
      }
    }
    case 'sqlite':
    case 'sqlite-transaction': {
      const database = openDatabase(at)
      const opened = { store: sqliteStore({ database }), close: () => database.close() }
      return name === 'sqlite' ? opened : { ...opened, writeEffect: writeToSqlite }
    }
    case 'inbox-sqlite':
    case 'inbox-sqlite-transaction':
    case 'inbox-sqlite-outage': {
      const opened = await openInbox(at)
      return name === 'inbox-sqlite' ? opened : { ...opened, writeEffect: writeToSqlite }
    }
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
async function openBullmq(at: string): Promise<OpenStore> {
  const { store, close } = await openStore({ name: 'redis', at })
  const inbox = bullmqInbox({ connection: at })
  return {
    ...{ store, inbox },
    async close() {
      await inbox.close()
      await close()
    },
  }
}

/** Repeats it while the file is locked or its disk is full, as a supervisor would. */
async function openInbox(path: string): Promise<OpenStore> {
  for (;;) {
    let database: SqliteDatabase | undefined
    try {
      const opened = openDatabase(path)
      database = opened
      return { store: sqliteStore({ database }), inbox: sqliteInbox({ database }), close: () => opened.close() }
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
