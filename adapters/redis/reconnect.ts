import { isFromServer } from './reply.ts'

/** How long an answer is waited for, on the client's own connection and on a new one. */
const ANSWER_LIMIT_MS = 3_000
const AGAIN_AFTER_MS = 250
/** How much later than on a new connection an answer may come on the client's own. */
const BEHIND_MS = 1_000
const NOT_AGAIN_FOR_MS = 3_000

/** What clients of node-redis and ioredis have, as far as it is used here. Others have none of it. */
interface Reconnectable {
  /** Of ioredis only. */
  readonly evalsha?: unknown
  /** Of node-redis: false once it was closed. */
  readonly isOpen?: boolean
  /** Of ioredis: `end` once it was closed for good. */
  readonly status?: string
  /** Of a cluster of node-redis. */
  readonly masters?: readonly { readonly client?: Reconnectable }[]
  /** Of a cluster of ioredis. */
  nodes?(role: 'master'): readonly Reconnectable[]
  ping?(): Promise<unknown>
  /** Pools have none. */
  duplicate?(): Reconnectable
  /** Of node-redis 5 and later; in version 4 it is called `disconnect`. */
  destroy?(): unknown
  /** In ioredis `true` makes it connect again. */
  disconnect?(reconnect?: boolean): unknown
  connect?(): Promise<unknown>
  on?(event: 'error' | 'ready', listener: () => void): unknown
}

interface Reports {
  onReconnected(): void
  /** It cannot be made to connect anew. */
  onStuck(): void
}

/** Makes the client that a store was given connect anew if it does not come to it by itself. */
export class Reconnector {
  readonly #client: Reconnectable
  readonly #reports: Reports
  #isUnderWay = false
  #notBefore = 0

  constructor(client: unknown, reports: Reports) {
    this.#client = Object(client)
    this.#reports = reports
  }

  /** For a call without an answer. */
  afterSilence(): void {
    void this.#once(async () => {
      await Promise.all(listNodes(this.#client).map((node) => this.#check(node)))
    })
  }

  /** For a call that failed: by a server that takes no writes any more, as after a failover, or in the client, by a time limit perhaps. */
  afterFailure(error: unknown): void {
    if (!isFromServer(error)) this.afterSilence()
    else if (String(Object(error).message).startsWith('READONLY')) void this.#once(() => this.#reconnect(this.#client))
  }

  async #once(what: () => Promise<void>): Promise<void> {
    if (this.#isUnderWay || performance.now() < this.#notBefore) return
    this.#isUnderWay = true
    await what().catch(() => {}) // the calls that fail are told of
    this.#isUnderWay = false
    this.#notBefore = performance.now() + NOT_AGAIN_FOR_MS
  }

  /** Only if a connection beside the client's own is answered, and that is not: the server may be what is silent. */
  async #check(node: Reconnectable): Promise<void> {
    const asking = answers(node)
    if (await answersAnew(node)) {
      const isAnswered = await Promise.race([asking, pause(BEHIND_MS)])
      if (!isAnswered) await this.#reconnect(node)
    } else if (node.connect !== undefined && node.duplicate === undefined && !(await asking)) this.#reports.onStuck()
  }

  async #reconnect(client: Reconnectable): Promise<void> {
    if (client.connect === undefined || client.status === 'end') return
    if (client.evalsha !== undefined) client.disconnect?.(true)
    else if (!(await reopen(client))) return
    this.#reports.onReconnected()
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
 * app closes it meanwhile.
 */
async function reopen(client: Reconnectable): Promise<boolean> {
  while (client.isOpen !== false) {
    await end(client)
    if ((await inTime(client.connect?.())) !== 'late') break
  }
  return client.isOpen !== false
}

/** Whether the client is answered. It may be connecting by itself, and refuse calls until it has. */
async function answers(client: Reconnectable): Promise<boolean> {
  if (client.ping === undefined) return false
  const giveUpAt = performance.now() + ANSWER_LIMIT_MS
  for (;;) {
    const result = await inTime(client.ping(), giveUpAt - performance.now())
    if (result === 'answered') return true
    if (result === 'late' || performance.now() + AGAIN_AFTER_MS >= giveUpAt) return false
    await pause(AGAIN_AFTER_MS)
  }
}

/** Whether a connection beside the client's own is answered. */
async function answersAnew(client: Reconnectable): Promise<boolean> {
  const probe = client.duplicate?.()
  if (probe?.connect === undefined) return false
  probe.on?.('error', () => {})
  // Connecting includes commands that the server answers. A client of ioredis has begun it unless it is lazy.
  const isLazy = probe.status === undefined || probe.status === 'wait'
  const connecting = isLazy ? probe.connect() : new Promise<void>((resolve) => probe.on?.('ready', resolve))
  try {
    return (await inTime(connecting)) === 'answered'
  } finally {
    void end(probe).catch(() => {})
  }
}

/** Waits for a call, for a time. An error of the server is an answer. */
async function inTime(
  calling: Promise<unknown> | undefined,
  limitMs = ANSWER_LIMIT_MS,
): Promise<'answered' | 'failed' | 'late'> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), limitMs).unref()
  })
  const result = Promise.resolve(calling).then(
    () => 'answered' as const,
    (error: unknown) => (isFromServer(error) ? 'answered' : 'failed'),
  )
  try {
    return await Promise.race([result, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Keeps no process alive. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref())
}

async function end(client: Reconnectable): Promise<void> {
  await (client.destroy === undefined ? client.disconnect?.() : client.destroy())
}
