import { setMaxListeners } from 'node:events'
import { makeRunner, type RunScript, toText } from './client.ts'

/** The fields of ioredis and node-redis clients that are used here. Other clients have none of them. */
export interface DuplicableClient extends OfIoRedis, OfNodeRedis {
  /** Only a single client has it. */
  readonly options?: { readonly socket?: object; readonly sentinelCommandTimeout?: number }
  /** Pools do not have it. */
  duplicate?(...options: readonly object[]): DuplicableClient
  connect?(): Promise<unknown>
  /** In node-redis only before version 5. */
  disconnect?(): unknown
  on?(event: 'connect' | 'end' | 'error' | 'ready', listener: () => void): unknown
}

interface OfIoRedis {
  readonly evalsha?: unknown
  /** `wait` until it is told to connect, `end` once it was closed for good. */
  readonly status?: string
  readonly stream?: { unref?(): unknown }
  /** Only a cluster has it. */
  readonly nodes?: unknown
  call?(...words: string[]): Promise<unknown>
}

interface OfNodeRedis {
  /** False once it was closed. */
  readonly isOpen?: boolean
  /** Only a cluster has it. */
  readonly masters?: unknown
  /** Only a cluster of version 5 or later has it. */
  readonly _options?: { readonly defaults?: { readonly socket?: object } }
  sendCommand?(words: string[]): Promise<unknown>
  destroy?(): unknown
  unref?(): unknown
}

const LOOK_EVERY_MS = 500
const SENTINEL_LIMIT_MS = 3_000

/** A client like the given one, which ends with it. It never reconnects, and does not keep the process alive. */
export class Duplicate {
  /** Resolves, once connected, with the function that runs scripts. */
  readonly connected: Promise<RunScript>
  readonly #client: DuplicableClient
  readonly #onClosed: () => void
  readonly #following: NodeJS.Timeout
  /** Ends its sockets. Closing a node-redis client before it has a socket closes nothing, and the socket opens later. */
  readonly #sockets = new AbortController()
  isClosed = false

  /**
   * @param database the one to select, if it is known; the client may have selected it after it connected
   * @param onClosed called when everything of it is closed
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
    await end(this.#client) // some clusters can only end their sockets now
    this.#onClosed()
  }
}

/** Returns the number of the client's database; undefined before Redis 6.2, in clusters, and for other clients. */
export async function askDatabase(client: DuplicableClient): Promise<number | undefined> {
  const reply = await (isOfIoRedis(client) ? client.call?.('CLIENT', 'INFO') : client.sendCommand?.(['CLIENT', 'INFO']))
  const [, database] = / db=([0-9]+)/.exec(toText(reply)) ?? []
  return database === undefined ? undefined : Number(database)
}

function duplicate(client: DuplicableClient, database: number | undefined, signal: AbortSignal): DuplicableClient {
  const options = isOfIoRedis(client) ? toOptionsOfIoRedis(client, database) : toOptions(client, database, signal)
  // ioredis clusters take a list of nodes first, and an empty one for the nodes that they know.
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
      url: undefined, // already parsed, and it could name another database
      socket: { ...options?.socket, ...once },
      ...(database !== undefined && { database }),
    }
  return {
    minimizeConnections: true, // one node that is down must not delay the other nodes
    ...(_options && { defaults: { ..._options.defaults, socket: { ..._options.defaults?.socket, ...once } } }),
  }
}

function toOptionsOfIoRedis({ options, nodes }: DuplicableClient, database: number | undefined): object {
  if (nodes !== undefined) return { clusterRetryStrategy: null }
  return {
    retryStrategy: null,
    sentinelRetryStrategy: null,
    sentinelCommandTimeout: options?.sentinelCommandTimeout ?? SENTINEL_LIMIT_MS, // it would wait for ever otherwise
    ...(database !== undefined && { db: database }),
  }
}

/** Returns whether the app has closed the client, or the client has given up. ioredis clusters may stay at `close`. */
export function isClosed({ isOpen, status }: DuplicableClient): boolean {
  return isOpen === false || status === 'end' || status === 'close'
}

function isOfIoRedis(client: DuplicableClient): boolean {
  return client.evalsha !== undefined
}

async function connect(client: DuplicableClient): Promise<unknown> {
  if (!isOfIoRedis(client)) return client.connect?.()
  // It has begun to connect unless it is lazy, and goes on until it succeeds, whatever connect() returns.
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
    // It was already closed.
  }
}
