import { setTimeout as sleep } from 'node:timers/promises'
import { createPostgresBackend, Queue } from 'bullmq'
import { type Clock, type InboxItem, type Settlement, systemClock, type TakenItem } from 'postern'
import { type BullmqInbox, bullmqInbox, migrateBullmq } from 'postern/bullmq'
import { expect, onTestFinished } from 'vitest'
import { type PostgresServer, postgresProgram, startPostgres } from '../../../engines/postgres-server.ts'
import { type RedisServer, redisProgram, startRedis } from '../../../engines/redis-server.ts'

type Server = Pick<RedisServer | PostgresServer, 'port' | 'url' | 'freeze' | 'thaw' | 'remove' | 'start'> & {
  kill(signal: 'SIGKILL'): Promise<void>
}

/** BullMQ's engines whose programs are installed here, with the settings that the inbox asks for. */
export const BACKENDS: readonly (readonly ['redis' | 'postgres', () => Promise<Server>])[] = [
  ...(redisProgram === undefined ? [] : [['redis', () => startRedis('--appendfsync', 'always')] as const]),
  ...(postgresProgram === undefined ? [] : [['postgres', () => startPostgresWithTables()] as const]),
]

async function startPostgresWithTables(): Promise<PostgresServer> {
  const server = await startPostgres('fsync=on')
  await migrateBullmq(server.url)
  return server
}

/** Opens BullMQ's view of a queue, as a dashboard does, until the end of the test. */
export function openBoard(backend: string, url: string, queue: string) {
  const board =
    backend === 'redis'
      ? new Queue(queue, { connection: { url } })
      : new Queue(queue, { connection: { connectionString: url } }, createPostgresBackend)
  board.on('error', () => {})
  onTestFinished(() => board.close())
  return board
}

let names = 0

/** Returns the name of a queue that no other test has. */
export const newQueue = () => `queue_${names++}`

/** Makes an inbox that is closed with the test. */
export function openInbox(connection: string, queue = newQueue()): BullmqInbox {
  const inbox = bullmqInbox({ connection, queue })
  onTestFinished(() => inbox.close())
  return inbox
}

export function makeItem(id: string, accountKey = 'acme'): InboxItem {
  return { key: `k${id}`, bytes: Buffer.from('{}'), accountKey, id, type: 'a.created', receivedAt: 0 }
}

interface WorkSettings {
  readonly concurrency?: number
  readonly leaseMs?: number
  readonly clock?: Clock
}

/** Starts a worker that ends with the test, without an error unless its lease is short. */
export function work(
  inbox: BullmqInbox,
  run: (item: TakenItem) => Promise<Settlement> | Settlement,
  { concurrency = 10, leaseMs = 15_000, clock = systemClock }: WorkSettings = {},
) {
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  const loop = inbox.work(async (item) => run(item), { concurrency, leaseMs, clock, onError, onSettled: () => {} })
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
