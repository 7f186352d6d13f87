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
  /** Of a cluster of node-redis. */
  readonly masters?: unknown
  /** Of a cluster of ioredis. */
  readonly nodes?: unknown
  /** Pools have none. */
  duplicate?(options: object): DuplicableClient
  /** Of node-redis. */
  sendCommand?(words: string[]): Promise<unknown>
  /** Of ioredis. */
  call?(...words: string[]): Promise<unknown>
  connect?(): Promise<unknown>
  /** Of node-redis 5 and later; in version 4 it is called `disconnect`, as in ioredis. */
  destroy?(): unknown
  disconnect?(): unknown
  on?(event: 'connect' | 'error' | 'ready' | 'reconnecting', listener: () => void): unknown
}

const LOOK_EVERY_MS = 500

/** A client like the one that was given, with connections of its own. It ends with that one, so that it keeps no process alive. */
export class Duplicate {
  /** How it runs scripts, once it is connected. */
  readonly connected: Promise<RunScript>
  readonly #client: DuplicableClient
  readonly #onClosed: () => void
  readonly #following: NodeJS.Timeout
  #canClose: boolean
  #state: 'open' | 'closing' | 'closed' = 'open'

  /** @param database the one to select, if it is known; the client may have selected it after it connected */
  constructor(client: DuplicableClient, database: number | undefined, onClosed: () => void) {
    this.#client = client.duplicate?.(toOptions(database)) ?? client
    this.#onClosed = onClosed
    this.#canClose = isOfIoRedis(client)
    const connecting = connect(this.#client)
    this.connected = connecting.then(() => makeRunner(this.#client))
    this.connected.catch(() => {})
    this.#watchSockets(connecting)
    this.#following = setInterval(() => {
      if (isClosed(client)) this.close()
    }, LOOK_EVERY_MS).unref()
  }

  /** At once, or as soon as it can be. */
  close(): void {
    this.#state = 'closing'
    this.#end()
  }

  /**
   * A client of node-redis that is closed before its socket is made closes nothing: the socket comes to life afterwards, and nobody owns
   * it. Clusters do not tell of their sockets.
   */
  #watchSockets(connecting: Promise<unknown>): void {
    const client = this.#client
    const allow = () => {
      this.#canClose = true
      if (this.#state === 'closing') setImmediate(() => this.#end()) // version 4 cannot be closed from within its events
    }
    void connecting.then(allow, allow)
    const isSingle = !isOfIoRedis(client) && client.masters === undefined
    client.on?.('error', isSingle ? allow : () => {}) // without a listener an error ends the process
    if (!isSingle) return
    client.on?.('connect', allow)
    client.on?.('reconnecting', () => {
      this.#canClose = false
    })
  }

  #end(): void {
    if (!this.#canClose || this.#state === 'closed') return
    this.#state = 'closed'
    clearInterval(this.#following)
    this.#onClosed()
    void close(this.#client).catch(() => {}) // it may have been closed by itself
  }
}

/** Which of its databases the client is in. Undefined where that is not said: before Redis 6.2, in clusters, by clients of other kinds. */
export async function askDatabase(client: DuplicableClient): Promise<number | undefined> {
  const reply = await (isOfIoRedis(client) ? client.call?.('CLIENT', 'INFO') : client.sendCommand?.(['CLIENT', 'INFO']))
  const [, database] = / db=([0-9]+)/.exec(toText(reply)) ?? []
  return database === undefined ? undefined : Number(database)
}

/** Both kinds take options that they do not know. */
function toOptions(database: number | undefined): object {
  return {
    clientSideCache: undefined,
    // A cluster connects to its nodes when they are needed: one that is down must not keep it from the others.
    minimizeConnections: true,
    // The address would say another database. It has been taken apart.
    ...(database !== undefined && { db: database, database, url: undefined }),
  }
}

/** Whether the app has closed the client, or that has given up by itself. */
export function isClosed(client: DuplicableClient): boolean {
  return client.isOpen === false || client.status === 'end'
}

function isOfIoRedis(client: DuplicableClient): boolean {
  return client.evalsha !== undefined
}

async function connect(client: DuplicableClient): Promise<unknown> {
  if (!isOfIoRedis(client)) return client.connect?.()
  // It has begun to connect unless it is lazy, and goes on until it can, whatever connect() says.
  if (client.status === 'wait') client.connect?.().catch(() => {})
  return new Promise<void>((resolve) => client.on?.('ready', resolve))
}

async function close(client: DuplicableClient): Promise<void> {
  await (client.destroy === undefined ? client.disconnect?.() : client.destroy())
}
