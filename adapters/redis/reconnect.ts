import { isFromServer } from './reply.ts'

/** How long an answer is waited for on a connection. */
const ANSWER_LIMIT_MS = 3_000
/** How much later than on a new connection an answer may come on the client's own: what was sent there before may take its time. */
const BEHIND_MS = 5_000
const AGAIN_AFTER_MS = 250
const NOT_AGAIN_FOR_MS = 3_000
/** For servers that stay replicas. */
const LONGEST_PAUSE_MS = 60_000

type ClientEvent = 'connect' | 'error' | 'ready' | 'reconnecting'

/** What clients of node-redis and ioredis have, as far as it is used here. Others have none of it. */
interface Reconnectable {
  /** Of ioredis only. */
  readonly evalsha?: unknown
  /** Of node-redis: false once it was closed. */
  readonly isOpen?: boolean
  /** Of node-redis: false while it connects. */
  readonly isReady?: boolean
  /** Of ioredis: `end` once it was closed for good. */
  readonly status?: string
  readonly options?: {
    /** Of ioredis. */
    readonly retryStrategy?: unknown
    /** Of node-redis. */
    readonly socket?: { readonly reconnectStrategy?: unknown }
  }
  /** Of a cluster of node-redis. */
  readonly masters?: readonly { readonly client?: Reconnectable }[]
  /** Of a cluster of ioredis. */
  nodes?(role: 'master'): readonly Reconnectable[]
  ping?(): Promise<unknown>
  eval?(script: string, keyCount?: number): Promise<unknown>
  /** Pools have none. */
  duplicate?(): Reconnectable
  /** Of node-redis 5 and later; in version 4 it is called `disconnect`. */
  destroy?(): unknown
  /** In ioredis `true` makes it connect again. */
  disconnect?(reconnect?: boolean): unknown
  connect?(): Promise<unknown>
  on?(event: ClientEvent, listener: () => void): unknown
  off?(event: ClientEvent, listener: () => void): unknown
}

interface Host {
  /** How many calls the server has answered. */
  countAnswers(): number
  onReconnected(): void
  /** Its connections are to be made anew, and cannot be from here. */
  onStuck(): void
}

/** Makes the client that a store was given connect anew if it does not come to it by itself. */
export class Reconnector {
  readonly #client: Reconnectable
  readonly #host: Host
  readonly #busy = new WeakSet<Reconnectable>()
  #notBefore = 0
  #demotedAt = Number.NEGATIVE_INFINITY
  #demotedPauseMs = NOT_AGAIN_FOR_MS

  constructor(client: unknown, host: Host) {
    this.#client = Object(client)
    this.#host = host
  }

  /** For a call without an answer. */
  afterSilence(): void {
    if (performance.now() < this.#notBefore) return
    this.#notBefore = performance.now() + NOT_AGAIN_FOR_MS
    for (const node of listNodes(this.#client)) void this.#once(node, () => this.#check(node))
  }

  /** For a call that failed: by a server that takes no writes any more, as after a failover, or in the client, by a time limit perhaps. */
  afterFailure(error: unknown): void {
    if (!isFromServer(error)) this.afterSilence()
    else if (String(Object(error).message).startsWith('READONLY')) this.#afterDemotion()
  }

  /** Clusters find the new master by themselves. */
  #afterDemotion(): void {
    const now = performance.now()
    const since = now - this.#demotedAt
    const [node] = listNodes(this.#client)
    if (node !== this.#client || since < this.#demotedPauseMs || this.#busy.has(node)) return
    const isFirst = since > 2 * LONGEST_PAUSE_MS
    this.#demotedPauseMs = isFirst ? NOT_AGAIN_FOR_MS : Math.min(2 * this.#demotedPauseMs, LONGEST_PAUSE_MS)
    this.#demotedAt = now
    void this.#once(node, () => this.#reconnect(node))
  }

  async #once(node: Reconnectable, what: () => Promise<void>): Promise<void> {
    if (this.#busy.has(node)) return
    this.#busy.add(node)
    await what().catch(() => {}) // the calls that fail are told of
    this.#busy.delete(node)
    this.#notBefore = performance.now() + NOT_AGAIN_FOR_MS
  }

  /** Only if a connection beside the client's own is answered, and that is not: the server may be what is silent, or busy. */
  async #check(node: Reconnectable): Promise<void> {
    const before = this.#host.countAnswers()
    const asking = answers(node)
    const isServerThere = node.duplicate === undefined || (await answersAnew(node))
    if (!isServerThere || (await isSoIn(BEHIND_MS, asking))) return
    const hasAnswered = node === this.#client && this.#host.countAnswers() > before
    if (!hasAnswered) await this.#reconnect(node)
  }

  async #reconnect(node: Reconnectable): Promise<void> {
    if (node.connect === undefined || node.status === 'end' || node.isOpen === false) return
    // A client of node-redis that connects by itself must not be made to do so twice.
    if (node.isReady === false || !this.#canReconnect(node)) return this.#host.onStuck()
    if (node.evalsha !== undefined) node.disconnect?.(true)
    else if (!(await reopen(node))) return
    this.#host.onReconnected()
  }

  /** Pools hand out clients that were closed meanwhile, and an app may have told its client never to connect again. */
  #canReconnect(node: Reconnectable): boolean {
    if (node.duplicate === undefined) return false
    if (node.options?.socket?.reconnectStrategy === false) return false
    const isSingle = node === this.#client && node.nodes === undefined // a cluster of ioredis replaces the clients of its masters
    return node.evalsha === undefined || !isSingle || typeof node.options?.retryStrategy === 'function'
  }
}

/** The clients of a cluster's masters, or the client itself. */
function listNodes(client: Reconnectable): readonly Reconnectable[] {
  const found = client.nodes?.('master') ?? client.masters?.map((master) => master.client) ?? []
  const nodes = found.filter((node) => typeof node?.ping === 'function') as readonly Reconnectable[] // the others are not made yet
  return nodes.length === 0 ? [client] : nodes
}

/**
 * Closes and opens a client of node-redis: it drops its connection in no other way. Returns whether it is connected; it is not if the
 * app closes it meanwhile. Waits for the end of each attempt to connect: two at once would share one queue of replies, and mix them.
 */
async function reopen(client: Reconnectable): Promise<boolean> {
  await end(client)
  for (;;) {
    const attempt = new Attempt(client)
    const connecting = Promise.resolve(client.connect?.()).catch(() => {})
    await untilOverOrStuck(client, attempt, connecting)
    attempt.stop()
    if (isReady(client) || client.isOpen === false) return isReady(client)
    await end(client)
    await connecting
    if (isReady(client)) return true
  }
}

/** Stuck is an attempt whose handshake has no answer though others have: as long as the server answers nobody, it may still succeed. */
async function untilOverOrStuck(client: Reconnectable, attempt: Attempt, connecting: Promise<unknown>): Promise<void> {
  const isOver = connecting.then(toTrue)
  const isStuck = async () =>
    attempt.stage === 'handshake' && (await answersAnew(client)) && attempt.stage === 'handshake'
  while (!(await isSoIn(ANSWER_LIMIT_MS, isOver)) && !(await isStuck()));
}

function isReady(client: Reconnectable): boolean {
  return client.isReady === true
}

/**
 * How far a client of node-redis has come with connecting. One that is closed before its socket is made closes nothing: the socket
 * comes to life afterwards, and nobody owns it.
 */
class Attempt {
  stage: 'socket' | 'handshake' | 'failed' = 'socket'
  readonly #client: Reconnectable
  readonly #listeners: Readonly<Record<'connect' | 'error' | 'reconnecting', () => void>>

  constructor(client: Reconnectable, onSocket = () => {}) {
    this.#client = client
    const to = (stage: typeof this.stage) => () => {
      this.stage = stage
      if (stage !== 'socket') setImmediate(onSocket) // version 4 cannot be closed from within its events
    }
    this.#listeners = { connect: to('handshake'), error: to('failed'), reconnecting: to('socket') }
    for (const event of EVENTS) client.on?.(event, this.#listeners[event])
  }

  stop(): void {
    for (const event of EVENTS) this.#client.off?.(event, this.#listeners[event])
  }
}

const EVENTS = ['connect', 'error', 'reconnecting'] as const

/** Whether the client is answered in time. It may be connecting by itself, and refuse calls until it has. */
async function answers(client: Reconnectable): Promise<boolean> {
  if (client.ping === undefined) return false
  const giveUpAt = performance.now() + ANSWER_LIMIT_MS + BEHIND_MS
  while (performance.now() < giveUpAt) {
    if (await client.ping().then(toTrue, isFromServer)) return true
    await pause(AGAIN_AFTER_MS)
  }
  return false
}

/** Whether a connection beside the client's own is answered: a script, as those of the store, since pings are answered while others wait. */
async function answersAnew(client: Reconnectable): Promise<boolean> {
  const probe = client.duplicate?.()
  if (probe?.connect === undefined) return false
  let isOver = false
  const close = () => {
    const isClosable = isOver && (probe.evalsha !== undefined || attempt.stage !== 'socket')
    if (isClosable) void end(probe).catch(() => {})
  }
  const attempt = new Attempt(probe, close)
  // A client of ioredis has begun to connect unless it is lazy.
  const isLazy = probe.status === undefined || probe.status === 'wait'
  const connecting = isLazy ? probe.connect() : new Promise<void>((resolve) => probe.on?.('ready', resolve))
  const asking = connecting.then(() => probe.eval?.('return 1', 0)).then(toTrue, () => false)
  try {
    return await isSoIn(ANSWER_LIMIT_MS, asking)
  } finally {
    isOver = true
    close()
  }
}

async function isSoIn(limitMs: number, asking: Promise<boolean>): Promise<boolean> {
  return (await Promise.race([asking, pause(limitMs)])) === true
}

async function end(client: Reconnectable): Promise<void> {
  await (client.destroy === undefined ? client.disconnect?.() : client.destroy())
}

/** Keeps no process alive. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref())
}

const toTrue = () => true
