import type { RedisQueueBackend } from 'bullmq'
import { type Inbox, type InboxItem, type Logger, pollInbox, systemClock } from '../../../src/engine.ts'
import { makeSweeper, warnOfDropped } from '../../stores/dead-letters.ts'
import { checkKey } from '../../stores/inbox-lines.ts'
import { nameWorker } from '../../stores/name-worker.ts'
import { Notices } from '../../stores/notices.ts'
import { PutListeners } from '../../stores/put-listeners.ts'
import { toCommandOptions } from './command-options.ts'
import { createConnection } from './connection.ts'
import { ask, findGaps } from './durability.ts'
import { toJobId } from './job-data.ts'
import { addJob, dropJob, getEntry, replayJob } from './jobs.ts'
import { readCounts, readNextTurn, readPage } from './look.ts'
import { createMissingWarning, describeMissing } from './missing-queue.ts'
import { type BullmqInboxOptions, checkOptions } from './options.ts'
import { createRedisTime } from './redis-time.ts'
import { createTurns } from './turns.ts'
import { WorkTable } from './work-table.ts'

export type { BullmqInboxOptions } from './options.ts'

/** An inbox with its own connections. */
export interface BullmqInbox extends Inbox {
  /** Closes the inbox's connections. Call it after `receiver.close()`: every later call to the inbox rejects. */
  close(): Promise<void>
  /** Returns a sentence if nothing has used the queue yet, and its Redis is not empty: its name, or the database, may be wrong. */
  findMissing(): Promise<string | undefined>
}

const SWEEP_BATCH = 1_000
/** This share of memory stays free for workers: a full Redis does not even hand out jobs. */
const FULL = 0.95
const FOREIGN =
  'bullmqInbox: the queue has jobs that are no events of this inbox, which its worker moves to the failed jobs. If another program uses the queue, it also takes events: give bullmqInbox a queue of its own.'
/** The time between two queries of the memory in use, in milliseconds. */
const LOOK_EVERY_MS = 500
/** The memory that a job takes in addition to its body, in bytes. */
const JOB_BYTES = 2_000

/**
 * An inbox on a BullMQ queue in Redis, for any number of machines. It connects at its first use, and reconnects by itself. It is an ordinary
 * BullMQ queue: BullMQ's dashboards show it.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`
 * @example bullmqInbox({ connection: 'redis://localhost:6379' })
 */
export function bullmqInbox(options: BullmqInboxOptions): BullmqInbox {
  const checked = checkOptions(options)
  const notices = new Notices()
  const report = async (backend: RedisQueueBackend) => {
    for (const gap of await findGaps(backend).catch(() => [])) notices.warn(`bullmqInbox: ${gap}`)
  }
  const time = createRedisTime()
  const connection = createConnection(checked, time, report)
  const warning = createMissingWarning(checked)
  const look = async () => warning.look(await connection.get())
  const takeRoom = createRoom()
  const nextTurn = createTurns(async () => readNextTurn(await connection.get()))
  const listeners = new PutListeners()
  let logger: Logger | undefined
  const { deadLetterMs } = checked
  const tidy = makeSweeper(
    async (backend: RedisQueueBackend, now: number) =>
      (await backend.cleanJobsByState('failed', now - deadLetterMs, SWEEP_BATCH)).length,
    (dropped) => warnOfDropped(logger, 'bullmqInbox', dropped, deadLetterMs),
  )
  return {
    commandOptions: toCommandOptions(checked),
    findMissing: async () => describeMissing(await connection.get(), checked),
    async put(item: InboxItem) {
      warning.end()
      const [backend, turn] = await Promise.all([connection.get(), nextTurn(item.accountKey)])
      await Promise.all([takeRoom(backend, item.bytes.length), time.read(backend)])
      await addJob(backend, item, turn, time.now())
      listeners.wake()
    },
    work(run, workOptions) {
      warning.end()
      const worker = nameWorker()
      const { leaseMs } = workOptions
      const own = createConnection(checked, time, report, leaseMs)
      const parts = { connection: own, time, worker, leaseMs, onPut: listeners.onPut, tidy }
      const table = new WorkTable({ ...parts, onForeign: () => notices.warn(FOREIGN) })
      const loop = pollInbox(table, worker, run, workOptions)
      return {
        async close(timeoutMs) {
          const left = await loop.close(timeoutMs)
          await table.giveBack()
          await own.close()
          return left
        },
      }
    },
    counts: async () => readCounts(await look(), time.now()),
    list: async (state, listOptions = {}) => readPage(look, state, listOptions),
    async get(key) {
      checkKey('get', key)
      return getEntry(await look(), key)
    },
    async replay(key) {
      const id = toJobId(checkKey('replay', key))
      const isReplayed = await replayJob(await look(), id, time.now())
      if (isReplayed) listeners.wake()
      return isReplayed
    },
    async drop(key) {
      const id = toJobId(checkKey('drop', key))
      return dropJob(await look(), id)
    },
    reportTo(given) {
      logger = given
      warning.end()
      notices.addLogger(given)
    },
    close: () => connection.close(),
  }
}

/** Returns a function that rejects if an item of so many bytes would fill up Redis. */
function createRoom(): (backend: RedisQueueBackend, bytes: number) => Promise<void> {
  let lookedAt = Number.NEGATIVE_INFINITY
  /** The bytes that may still be added, as far as this process knows. */
  let left = Number.POSITIVE_INFINITY
  const look = async (backend: RedisQueueBackend) => {
    const info = String(await ask(backend, 'INFO', 'memory'))
    const read = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0)
    const most = read('maxmemory')
    left = most === 0 ? Number.POSITIVE_INFINITY : most * FULL - read('used_memory')
  }
  return async (backend, bytes) => {
    const now = systemClock.monotonic()
    if (now - lookedAt >= LOOK_EVERY_MS) {
      const isFirst = lookedAt === Number.NEGATIVE_INFINITY
      lookedAt = now
      const looking = look(backend)
      if (isFirst || left < 0) await looking
    }
    left -= 2 * bytes + JOB_BYTES
    if (left < 0)
      throw new Error(
        'Redis is nearly full (maxmemory). The rest of its memory is kept for the workers, which free memory by handling events.',
      )
  }
}
