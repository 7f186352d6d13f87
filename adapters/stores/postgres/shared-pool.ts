import { createHash } from 'node:crypto'
import { STORE_LIMIT_MS, systemClock } from '../../../src/engine.ts'
import { Notices } from '../notices.ts'
import { KeptConnection } from './kept-connection.ts'
import {
  type CheckedOut,
  type CheckOutOptions,
  checkOut,
  isIdle,
  maxOf,
  NoAnswer,
  type PgClient,
  type PgPool,
  type RunOptions,
  runStatement,
  sqlStateOf,
  TimedOut,
  useOnce,
} from './pool.ts'

/** Connections that handlers cannot use: one is kept for renewals, and one is left for claims. */
const LEFT_FREE = 2
/** The time for which a claim waits for its own connection. */
const SPARE_WITHIN_MS = 100
/** The time for which claims then use the shared connection. */
const SCARCE_FOR_MS = 1_000
const MOST_TURNS = 12

const LEFT_OPEN =
  'A connection was released to the pool inside a transaction. It was closed, and its uncommitted changes were rolled back: end each transaction before client.release().'

const pools = new WeakMap<PgPool, SharedPool>()

/** The connections that the stores on one pool share, each with its purpose. */
export class SharedPool {
  /** As many concurrent transactions as the pool can spare. */
  readonly slots: Slots
  readonly notices = new Notices()
  readonly #pool: PgPool
  readonly #kept: KeptConnection
  readonly #openedAt = new WeakMap<PgClient, number>()
  readonly #names = new Map<string, string>()
  readonly #notPreparing = new WeakSet<PgClient>()
  #isScarceUntil = 0

  static of(pool: PgPool): SharedPool {
    const known = pools.get(pool)
    if (known !== undefined) return known
    const made = new SharedPool(pool)
    pools.set(pool, made)
    return made
  }

  private constructor(pool: PgPool) {
    this.#pool = pool
    this.slots = new Slots(maxOf(pool) - LEFT_FREE)
    this.#kept = new KeptConnection(
      (onError) => this.checkOut({ limitMs: STORE_LIMIT_MS, onError }),
      () => this.isEnding,
    )
    // A connection that breaks would end the process without a listener: an idle one, which the pool replaces, and a new one whose server
    // shuts down right after it accepts it, before its user could listen.
    pool.on('error', ignore)
    pool.on('connect', (client) => {
      client.on('error', ignore)
      this.#openedAt.set(client, systemClock.monotonic())
    })
  }

  get isEnding(): boolean {
    return this.#pool.ending === true
  }

  /** Checks out a connection that is not in a transaction: statements inside of one would not be committed. */
  async checkOut(options?: CheckOutOptions): Promise<CheckedOut> {
    for (;;) {
      const checkedOut = await checkOut(this.#pool, options)
      if (isIdle(checkedOut.client)) return checkedOut
      checkedOut.giveBack(false)
      this.notices.warn(LEFT_OPEN)
    }
  }

  /** Runs a function on its own connection, which is closed if the function fails. */
  async use<T>(what: (client: PgClient) => Promise<T>): Promise<T> {
    return useOnce(await this.checkOut(), what)
  }

  /** Runs a message that commits by itself, on the connection that is kept for renewals and completions. */
  runKept(text: string, values: unknown[] = []): Promise<readonly (readonly unknown[])[]> {
    return this.#kept.use((client) => this.#runAlone(client, text, values))
  }

  /** Runs a message in the same way, on another connection if there is one: for claims, and for an inbox. */
  async runSpare(text: string, values: unknown[]): Promise<readonly (readonly unknown[])[]> {
    await this.#kept.hold() // a receiver needs it to keep its claim
    const spare = await this.#findSpare()
    if (spare === undefined) return this.runKept(text, values)
    return useOnce(spare, (client) => this.#runAlone(client, text, values))
  }

  async #findSpare(): Promise<CheckedOut | undefined> {
    if (systemClock.monotonic() < this.#isScarceUntil) return undefined
    try {
      return await this.checkOut({ limitMs: SPARE_WITHIN_MS })
    } catch (error) {
      if (this.isEnding) throw error
      this.#isScarceUntil = systemClock.monotonic() + SCARCE_FOR_MS
      return undefined
    }
  }

  /** @throws NoAnswer if the outcome of the statement is unknown; its connection must be closed */
  async run(client: PgClient, text: string, options: RunOptions = {}): Promise<readonly (readonly unknown[])[]> {
    const sentAt = systemClock.monotonic()
    try {
      return await runStatement(client, text, { limitMs: STORE_LIMIT_MS, ...options })
    } catch (error) {
      const state = sqlStateOf(error)
      if (state !== undefined && !LOST.test(state)) throw error
      if (error instanceof TimedOut) void this.#dropOlderThan(sentAt)
      throw new NoAnswer(error)
    }
  }

  async #runAlone(client: PgClient, text: string, values: unknown[]): Promise<readonly (readonly unknown[])[]> {
    for (let turn = 1; ; turn++)
      try {
        const rows = await this.#runPrepared(client, text, values)
        if (isIdle(client)) return rows
        // An app returned the connection to the pool while its BEGIN was still on its way.
        this.notices.warn(LEFT_OPEN)
        throw new NoAnswer(undefined, LEFT_OPEN)
      } catch (error) {
        // If transactions are serializable by default, conflicting statements are refused, and have no effect.
        if (!CONFLICT.test(sqlStateOf(error) ?? '') || turn === MOST_TURNS) throw error
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 2 ** Math.min(turn, 6)))
      }
  }

  /** Prepares a statement once on each connection, but not again on one that has lost it, as behind a pooler. */
  async #runPrepared(client: PgClient, text: string, values: unknown[]): Promise<readonly (readonly unknown[])[]> {
    if (values.length === 0 || this.#notPreparing.has(client)) return this.run(client, text, { values })
    try {
      return await this.run(client, text, { values, name: this.#nameOf(text) })
    } catch (error) {
      if (!NOT_PREPARED.test(sqlStateOf(error) ?? '')) throw error
      this.#notPreparing.add(client)
      return this.run(client, text, { values })
    }
  }

  /** Connections behind a pooler are shared with other processes, so that a name must always mean the same text. */
  #nameOf(text: string): string {
    const known = this.#names.get(text)
    if (known !== undefined) return known
    const name = `postern_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
    this.#names.set(text, name)
    return name
  }

  /** Closes connections that are older than a statement that was never answered: a network that lost one connection has lost them all. */
  async #dropOlderThan(sentAt: number): Promise<void> {
    this.#kept.dropIdle(sentAt)
    const idle = await Promise.allSettled(Array.from({ length: this.#pool.idleCount ?? 0 }, () => this.#pool.connect()))
    for (const one of idle)
      if (one.status === 'fulfilled') one.value.release((this.#openedAt.get(one.value) ?? 0) <= sentAt)
  }
}

/** Limits how many callers run at the same time; the others wait in line. */
class Slots {
  #free: number
  readonly #line = new Set<() => void>()

  constructor(count: number) {
    this.#free = count
  }

  /** @param signal removes the caller from the line */
  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#free > 0) {
      this.#free--
      return
    }
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        this.#line.delete(onTurn)
        reject(signal.reason)
      }
      const onTurn = () => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.#line.add(onTurn)
    })
  }

  /** Passes the slot to the first caller in line, if there is one. */
  give(): void {
    const [next] = this.#line
    if (next === undefined) this.#free++
    else {
      this.#line.delete(next)
      next()
    }
  }
}

/** Serialization failures and deadlocks. */
const CONFLICT = /^40(?:001|P01)$/
/** The statement is not prepared, or by another process (as behind a PgBouncer before 1.21), or does not fit. */
const NOT_PREPARED = /^(?:26000|42P05|0A000)$/
/** A connection that broke, or a server that shuts down. */
const LOST = /^(?:08|57P)/

const ignore = () => {}
