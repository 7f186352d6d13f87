import { setMaxListeners } from 'node:events'
import { makeRunner, type RunScript } from './client.ts'
import { toText } from './reply.ts'

/** What clients of node-redis and ioredis have, as far as it is used here. Others have none of it. */
export interface DuplicableClient {
  /** Of ioredis only. */
  readonly evalsha?: unknown
  /** Of node-redis: false once it was closed. */
  readonly isOpen?: boolean
  /** Of ioredis: `wait` until it is told to connect, `end` once it was closed for good. */
  readonly status?: string
  /** Of ioredis: whether it was told to close. */
  readonly manuallyClosing?: boolean
  /** Of ioredis. */
  readonly stream?: { unref?(): unknown }
  /** Of a single client. */
  readonly options?: { readonly socket?: object; readonly sentinelCommandTimeout?: number }
  /** Of a cluster of node-redis. */
  readonly masters?: unknown
  /** Of a cluster of node-redis 5 and later. */
  readonly _options?: { readonly defaults?: { readonly socket?: object } }
  /** Of a cluster of ioredis. */
  readonly nodes?: unknown
  /** Pools have none. */
  duplicate?(...options: readonly object[]): DuplicableClient
  /** Of node-redis. */
  sendCommand?(words: string[]): Promise<unknown>
  /** Of ioredis. */
  call?(...words: string[]): Promise<unknown>
  connect?(): Promise<unknown>
  /** Of node-redis 5 and later; in version 4 it is called `disconnect`, as in ioredis. */
  destroy?(): unknown
  disconnect?(): unknown
  /** Of a single client of node-redis. */
  unref?(): unknown
  on?(event: 'connect' | 'end' | 'error' | 'ready', listener: () => void): unknown
}

const LOOK_EVERY_MS = 500
const SENTINEL_LIMIT_MS = 3_000

/**
 * A client like the one that was given, with connections of its own. It never connects again, ends with that one, and keeps no process
 * alive.
 */
export class Duplicate {
  /** How it runs scripts, once it is connected. */
  readonly connected: Promise<RunScript>
  readonly #client: DuplicableClient
  readonly #onClosed: () => void
  readonly #following: NodeJS.Timeout
  /** Ends its sockets. A client of node-redis that is closed before it has one closes nothing, and the socket comes to life later. */
  readonly #sockets = new AbortController()
  isClosed = false

  /**
   * @param database the one to select, if it is known; the client may have selected it after it connected
   * @param onClosed is called when nothing is left of it
   */
  constructor(client: DuplicableClient, database: number | undefined, onClosed: () => void) {
    setMaxListeners(0, this.#sockets.signal) // a cluster has a socket for each node
    this.#client = duplicate(client, database, this.#sockets.signal)
    this.#onClosed = onClosed
    this.#client.on?.('error', () => {}) // without a listener an error ends the process
    unref(this.#client)
    this.connected = connect(this.#client).then(() => makeRunner(this.#client))
    this.#following = setInterval(() => {
      if (isClosed(client) || isClosed(this.#client)) void this.close()
    }, LOOK_EVERY_MS).unref()
  }

  async close(): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    clearInterval(this.#following)
    await end(this.#client)
    this.#sockets.abort()
    await this.connected.catch(() => {})
    await end(this.#client) // the sockets of some clusters can only be ended now
    this.#onClosed()
  }
}

/** Which of its databases the client is in. Undefined where that is not said: before Redis 6.2, in clusters, by clients of other kinds. */
export async function askDatabase(client: DuplicableClient): Promise<number | undefined> {
  const reply = await (isOfIoRedis(client) ? client.call?.('CLIENT', 'INFO') : client.sendCommand?.(['CLIENT', 'INFO']))
  const [, database] = / db=([0-9]+)/.exec(toText(reply)) ?? []
  return database === undefined ? undefined : Number(database)
}

function duplicate(client: DuplicableClient, database: number | undefined, signal: AbortSignal): DuplicableClient {
  const options = isOfIoRedis(client) ? toOptionsOfIoRedis(client, database) : toOptions(client, database, signal)
  // Clusters of ioredis take their nodes first, and none for those that they have.
  return client.duplicate?.(...(client.nodes === undefined ? [options] : [[], options])) ?? client
}

function toOptions(
  { options, masters, _options }: DuplicableClient,
  database: number | undefined,
  signal: AbortSignal,
) {
  const once = { signal, reconnectStrategy: false }
  if (masters === undefined)
    return {
      clientSideCache: undefined,
      url: undefined, // it has been taken apart, and would say another database
      socket: { ...options?.socket, ...once },
      ...(database !== undefined && { database }),
    }
  return {
    minimizeConnections: true, // one node that is down must not keep it from the others
    ...(_options && { defaults: { ..._options.defaults, socket: { ..._options.defaults?.socket, ...once } } }),
  }
}

function toOptionsOfIoRedis({ options, nodes }: DuplicableClient, database: number | undefined): object {
  if (nodes !== undefined) return { clusterRetryStrategy: null }
  return {
    retryStrategy: null,
    sentinelRetryStrategy: null,
    sentinelCommandTimeout: options?.sentinelCommandTimeout ?? SENTINEL_LIMIT_MS, // it would wait for ever
    ...(database !== undefined && { db: database }),
  }
}

/** Whether the app has closed the client, or that has given up by itself. Clusters of ioredis may stay at `close`. */
export function isClosed({ isOpen, status, manuallyClosing }: DuplicableClient): boolean {
  if (isOpen === false || status === 'end' || status === 'close') return true
  // Closed between two tries to connect, those of ioredis come to no end.
  return manuallyClosing === true && (status === 'reconnecting' || status === 'disconnecting')
}

function isOfIoRedis(client: DuplicableClient): boolean {
  return client.evalsha !== undefined
}

async function connect(client: DuplicableClient): Promise<unknown> {
  if (!isOfIoRedis(client)) return client.connect?.()
  // It has begun to connect unless it is lazy, and goes on until it can, whatever connect() says.
  if (client.status === 'wait') client.connect?.().catch(() => {})
  return new Promise<void>((resolve, reject) => {
    client.on?.('ready', resolve)
    client.on?.('end', reject)
  })
}

function unref(client: DuplicableClient): void {
  client.unref?.()
  if (isOfIoRedis(client)) client.on?.('connect', () => client.stream?.unref?.())
}

async function end(client: DuplicableClient): Promise<void> {
  try {
    await (client.destroy === undefined ? client.disconnect?.() : client.destroy())
  } catch {
    // It has ended by itself.
  }
}
