import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Queue } from 'bullmq'
import pg from 'pg'
import { type Clock, type Inbox, type InboxItem, systemClock } from 'postern'
import { bullmqInbox } from 'postern/bullmq'
import { postgresInbox } from 'postern/postgres'
import { openSqlite, sqliteInbox } from 'postern/sqlite'
import { expect, onTestFinished } from 'vitest'
import type { InboxWorkOptions, Settlement, TakenItem } from '../../../src/engine.ts'
import { type PostgresServer, postgresProgram, startPostgres } from '../../engines/postgres-server.ts'
import { type RedisServer, redisProgram, startRedis } from '../../engines/redis-server.ts'

type Server = Pick<RedisServer | PostgresServer, 'port' | 'url' | 'freeze' | 'thaw' | 'remove' | 'start'> & {
  kill(signal: 'SIGKILL'): Promise<void>
}

/** An inbox with its own connections. */
export interface OpenInbox extends Inbox {
  close(): Promise<void>
}

/** An engine on a server, or in a file. */
export interface ServedEngine {
  readonly name: 'redis' | 'postgres' | 'sqlite'
  /** Starts it with the settings that the inbox asks for, and with the tables of its default inbox. */
  start(): Promise<Server>
  /** Opens the inbox of a queue or a table; without a name, the default one. */
  open(url: string, name?: string): OpenInbox & { migrate?(): Promise<void> }
}

const redis: ServedEngine = {
  name: 'redis',
  start: () => startRedis('--appendfsync', 'always'),
  open: (connection, queue) => bullmqInbox({ connection, ...(queue && { queue }) }),
}

const postgres: ServedEngine = {
  name: 'postgres',
  async start() {
    const server = await startPostgres('fsync=on')
    const inbox = postgres.open(server.url)
    await inbox.migrate?.()
    await inbox.close()
    return server
  },
  open(connectionString, table) {
    const pool = new pg.Pool({ connectionString })
    return Object.assign(postgresInbox({ pool, table }), { close: () => pool.end() })
  },
}

/** SQLite has no server: the address of an inbox is the path of its file. */
export const sqlite: Pick<ServedEngine, 'name' | 'open'> & { start(): Promise<Pick<Server, 'url' | 'remove'>> } = {
  name: 'sqlite',
  async start() {
    const folder = mkdtempSync(join(tmpdir(), 'postern-inbox-'))
    const remove = async () => rmSync(folder, { recursive: true, force: true })
    return { url: join(folder, 'inbox.db'), remove }
  },
  open(path, table) {
    const database = openSqlite(path)
    return Object.assign(sqliteInbox({ database, table }), { close: async () => database.close() })
  },
}

/** The engines whose programs are installed here. */
export const ENGINES: readonly ServedEngine[] = [
  ...(redisProgram === undefined ? [] : [redis]),
  ...(postgresProgram === undefined ? [] : [postgres]),
]

/** Opens BullMQ's view of a queue, as a dashboard does, until the end of the test. */
export function openBoard(url: string, queue: string) {
  const board = new Queue(queue, { connection: { url } })
  board.on('error', () => {})
  onTestFinished(() => board.close())
  return board
}

let names = 0

/** Returns the name of a queue or a table that no other test has. */
export const newName = () => `inbox_${names++}`

/** Opens an inbox that is closed with the test. */
export async function openInbox(
  { open }: Pick<ServedEngine, 'open'>,
  url: string,
  name = newName(),
): Promise<OpenInbox> {
  const inbox = open(url, name)
  onTestFinished(() => inbox.close())
  await inbox.migrate?.()
  return inbox
}

export function makeItem(id: string, accountKey = 'acme'): InboxItem {
  return { key: `k${id}`, bytes: Buffer.from('{}'), accountKey, id, type: 'a.created', receivedAt: 0 }
}

interface WorkSettings {
  readonly concurrency?: number
  readonly leaseMs?: number
  readonly clock?: Clock
  readonly onSettled?: InboxWorkOptions['onSettled']
}

/** Starts a worker that ends with the test, without an error unless its lease is short. */
export function work(
  inbox: Inbox,
  run: (item: TakenItem) => Promise<Settlement> | Settlement,
  { concurrency = 10, leaseMs = 15_000, clock = systemClock, onSettled = () => {} }: WorkSettings = {},
) {
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  const loop = inbox.work(async (item) => run(item), { concurrency, leaseMs, clock, onError, onSettled })
  onTestFinished(async () => {
    await loop.close(0)
    if (leaseMs === 15_000) expect(errors).toEqual([])
  })
  return loop
}

export const DONE: Settlement = { next: 'remove' }

/** The record of a try that failed. */
export function tried({ tries, dueAt, worker }: TakenItem, error = 'it failed') {
  return { n: tries.length + 1, dueAt, startedAt: 0, endedAt: 0, code: 'handler_failed', error, worker }
}

export function bury(item: TakenItem, marks: readonly string[] = []): Settlement {
  return { next: 'bury', marks, tried: tried(item) }
}

/** Waits as long as it takes. Asks again if the server is too slow for the limit of a connection. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const isSoNow = async () => isSo()
  while (!(await isSoNow().catch(() => false))) await sleep(10)
}

let items = 0

/** Puts so many items of an account into an inbox, fifty at a time. */
export async function putMany(inbox: Inbox, accountKey: string, count: number): Promise<readonly InboxItem[]> {
  const all = Array.from({ length: count }, () => makeItem(String(items++), accountKey))
  for (let from = 0; from < count; from += 50)
    await Promise.all(all.slice(from, from + 50).map((item) => inbox.put(item)))
  return all
}

/** Works until so many items have run, and returns their accounts in this order. */
export async function workOff(
  inbox: Inbox,
  count: number,
  settle: (item: TakenItem) => Settlement = () => DONE,
): Promise<readonly string[]> {
  const order: string[] = []
  const loop = work(inbox, (item) => {
    order.push(item.accountKey)
    return settle(item)
  })
  await until(() => order.length === count)
  await loop.close(10_000)
  return order
}
