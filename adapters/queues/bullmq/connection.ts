import { createRedisBackend, type RedisOptions, type RedisQueueBackend, type WorkerOptions } from 'bullmq'
import { ConfigurationError } from '../../../src/engine.ts'
import type { Checked } from './options.ts'
import type { RedisTime } from './redis-time.ts'

/** The longest pause before a reconnection, in milliseconds. BullMQ waits for up to 20 s. */
const LONGEST_PAUSE_MS = 1_000
/** An engine that is silent for this long counts as gone, in milliseconds. A lease of 15 s outlives that. */
const SILENCE_MS = 5_000
const CONNECT_MS = 3_000

/** Returns whether the error is BullMQ's answer that a job does not exist, is not in that state, or is not locked by this token. */
export function isRefused(error: unknown): boolean {
  const code = Object(error).code
  return typeof code === 'number' && code < 0
}

export type Connection = ReturnType<typeof createConnection>

/**
 * Creates a connection to BullMQ's backend. It fails fast while the engine is away, and reconnects by itself.
 *
 * @param time shared by the connections of an inbox
 * @param onOpened called for each backend that is made
 * @param leaseMs a worker's lease, in milliseconds
 */
export function createConnection(
  options: Checked,
  time: RedisTime,
  onOpened: (backend: RedisQueueBackend) => void,
  leaseMs?: number,
) {
  let opened: Promise<RedisQueueBackend> | undefined
  let isClosed = false
  const open = async () => {
    let backend: RedisQueueBackend | undefined
    try {
      backend = makeBackend(options, leaseMs)
      await Promise.race([backend.waitUntilReady(), untilError(backend)])
      await time.read(backend)
      time.correct(backend)
    } catch (cause) {
      opened = undefined
      backend?.close(true).catch(() => {})
      throw explain(cause)
    }
    onOpened(backend)
    return backend
  }
  return {
    /** Resolves with the backend; rejects if it cannot be reached, and the next call tries again. */
    async get(): Promise<RedisQueueBackend> {
      // A connection that is opened now would never be closed, and would keep the process alive.
      if (isClosed) throw new Error('The inbox is closed.')
      opened ??= open()
      return opened
    },
    async close(): Promise<void> {
      isClosed = true
      await (await opened?.catch(() => undefined))?.close(true).catch(() => {})
    },
  }
}

/** The listener stays: without one, an error ends the process. The caller gets the error of its own call. */
function untilError(backend: RedisQueueBackend): Promise<never> {
  const failed = new Promise<never>((_, reject) => void backend.on('error', reject))
  failed.catch(() => {})
  return failed
}

function makeBackend({ connection, queue, prefix }: Checked, leaseMs: number | undefined): RedisQueueBackend {
  // BullMQ's own telemetry stays off: Postern has no option for it.
  const options: Pick<WorkerOptions, 'lockDuration' | 'stalledInterval' | 'maxStalledCount'> =
    leaseMs === undefined
      ? {}
      : { lockDuration: leaseMs, stalledInterval: Math.ceil(leaseMs / 3), maxStalledCount: 1_000_000 }
  const given: RedisOptions = {
    connectTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    retryStrategy: (times: number) => Math.min(50 * times, LONGEST_PAUSE_MS),
    // A server that has become a replica keeps its connections open; a new connection leads to the master.
    reconnectOnError: ({ message }: Error) => /(^|-)READONLY /.test(message),
    ...connection,
    enableOfflineQueue: false,
    // The command may have been carried out: the caller must know that there was no answer.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  }
  const all = { ...options, connection: given, prefix } // the type omits the prefix
  return createRedisBackend(queue, all)
}

function explain(cause: unknown): unknown {
  const { message } = Object(cause)
  if (typeof message !== 'string' || !message.includes('could not load the optional')) return cause
  return new ConfigurationError('driver_missing', 'bullmqInbox needs ioredis: npm install ioredis', { cause })
}
