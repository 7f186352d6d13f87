/** How long a new connection may take to answer. */
const PROBE_LIMIT_MS = 3_000
const NOT_AGAIN_FOR_MS = 3_000

/** What clients of node-redis and ioredis have, as far as it is used here. Others have none of it. */
interface Reconnectable {
  /** Of ioredis only. */
  readonly evalsha?: unknown
  /** Of node-redis: false once it was closed. */
  readonly isOpen?: boolean
  /** Of ioredis: `end` once it was closed for good. */
  readonly status?: string
  duplicate?(): Reconnectable
  /** Of node-redis 5 and later; in version 4 it is called `disconnect`. */
  destroy?(): unknown
  /** In ioredis `true` makes it connect again. */
  disconnect?(reconnect?: boolean): unknown
  connect?(): Promise<unknown>
  on?(event: 'error' | 'ready', listener: () => void): unknown
}

/** Makes the client that a store was given connect anew if it does not come to it by itself. */
export class Reconnector {
  readonly #client: Reconnectable
  readonly #onDone: () => void
  #isUnderWay = false
  #notBefore = 0
  #isClosed = false

  constructor(client: unknown, onDone: () => void) {
    this.#client = Object(client)
    this.#onDone = onDone
  }

  /** For a connection that answers nothing. Only if a new one is answered: the server may be what is silent. */
  afterSilence(): void {
    void this.#try(async () => {
      if (await isAnswered(this.#client)) await this.#reconnect()
    })
  }

  /** For a call that was refused: by a server that takes no writes any more, as after a failover, or because connecting anew failed. */
  afterRefusal(error: unknown): void {
    const isDemoted = String(Object(error).message).includes('READONLY')
    if (isDemoted || this.#isClosed) void this.#try(() => this.#reconnect())
  }

  async #try(what: () => Promise<void>): Promise<void> {
    if (this.#isUnderWay || performance.now() < this.#notBefore) return
    this.#isUnderWay = true
    await what().catch(() => {}) // the calls that fail are told of
    this.#isUnderWay = false
    this.#notBefore = performance.now() + NOT_AGAIN_FOR_MS
  }

  async #reconnect(): Promise<void> {
    const client = this.#client
    const wasClosedByApp = (client.isOpen === false || client.status === 'end') && !this.#isClosed
    if (wasClosedByApp || client.connect === undefined) return
    if (client.evalsha !== undefined) client.disconnect?.(true)
    else {
      if (!this.#isClosed) await end(client)
      this.#isClosed = true
      await client.connect()
      this.#isClosed = false
    }
    this.#onDone()
  }
}

/** Whether a connection beside the client's own is answered. */
async function isAnswered(client: Reconnectable): Promise<boolean> {
  const probe = client.duplicate?.()
  if (probe?.connect === undefined) return false
  probe.on?.('error', () => {})
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), PROBE_LIMIT_MS)
  })
  // Connecting includes commands that the server answers. A client of ioredis has begun it unless it is lazy.
  const isLazy = probe.status === undefined || probe.status === 'wait'
  const connecting = isLazy ? probe.connect() : new Promise((resolve) => probe.on?.('ready', () => resolve(true)))
  const isConnected = connecting.then(
    () => true,
    () => false,
  )
  try {
    return await Promise.race([isConnected, tooLate])
  } finally {
    clearTimeout(timer)
    void end(probe).catch(() => {})
  }
}

async function end(client: Reconnectable): Promise<void> {
  await (client.destroy === undefined ? client.disconnect?.() : client.destroy())
}
