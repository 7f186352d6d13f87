import { createHash } from 'node:crypto'
import { STORE_LIMIT_MS, systemClock } from '../../../src/engine.ts'
import { Notices } from '../notices.ts'
import { cancel, LOCKED_FOR_MS, prepareSession } from './give-up.ts'
import {
  type CheckedOut,
  type CheckOutOptions,
  checkOut,
  isIdle,
  NoAnswer,
  type PgClient,
  type PgPool,
  type RunOptions,
  runStatement,
  sqlStateOf,
  TimedOut,
  useOnce,
} from './pool.ts'

/** The options in which the connections of the stores and inboxes differ from those of their pool. */
const OWN = {
  max: 2,
  min: 0,
  idleTimeoutMillis: 10_000,
  connectionTimeoutMillis: STORE_LIMIT_MS,
  allowExitOnIdle: true,
}
const MOST_TURNS = 12

const LEFT_OPEN =
  'A connection was released to the pool inside a transaction. It was closed, and its uncommitted changes were rolled back: end each transaction before client.release().'

const pools = new WeakMap<PgPool, SharedPool>()

/**
 * The connections that the stores and inboxes on one pool share: those of the pool for transactions and rare long statements, and two of
 * their own, which handlers cannot use up, for everything that a receiver waits for.
 */
export class SharedPool {
  readonly notices = new Notices()
  readonly #pool: PgPool
  readonly #own: PgPool
  readonly #openedAt = new WeakMap<PgClient, number>()
  readonly #names = new Map<string, string>()
  readonly #notPreparing = new WeakSet<PgClient>()
  /** The connections of its own; true if the server gives up first what it waits for. */
  readonly #givesUp = new WeakMap<PgClient, boolean>()

  static of(pool: PgPool): SharedPool {
    const known = pools.get(pool)
    if (known !== undefined) return known
    const made = new SharedPool(pool)
    pools.set(pool, made)
    return made
  }

  private constructor(pool: PgPool) {
    this.#pool = pool
    this.#own = makeOwnPool(pool)
    // A connection that breaks would end the process without a listener: an idle one, which the pool replaces, and a new one whose server
    // shuts down right after it accepts it, before its user could listen.
    for (const each of [this.#pool, this.#own]) each.on('error', ignore)
    pool.on('connect', (client) => {
      client.on('error', ignore)
      this.#openedAt.set(client, systemClock.monotonic())
    })
  }

  get isEnding(): boolean {
    return this.#pool.ending === true
  }

  /** Checks out a connection of the pool that is not in a transaction: statements inside of one would not be committed. */
  checkOut(options?: CheckOutOptions): Promise<CheckedOut> {
    return this.#checkOutOf(this.#pool, options)
  }

  async #checkOutOf(pool: PgPool, options?: CheckOutOptions): Promise<CheckedOut> {
    for (;;) {
      const checkedOut = await checkOut(pool, options)
      if (isIdle(checkedOut.client)) return checkedOut
      checkedOut.giveBack(false)
      this.notices.warn(LEFT_OPEN)
    }
  }

  /** Runs a function on a connection of the pool, which is closed if the function fails. */
  async use<T>(what: (client: PgClient) => Promise<T>): Promise<T> {
    return useOnce(await this.checkOut(), what)
  }

  /** Runs a message that commits by itself. */
  async runOwn(text: string, values: unknown[] = []): Promise<readonly (readonly unknown[])[]> {
    const checkedOut = await this.#checkOutOf(this.#own, { limitMs: STORE_LIMIT_MS })
    return useOnce(checkedOut, async (client) => {
      const isOwn = this.#own !== this.#pool
      if (isOwn && !this.#givesUp.has(client)) this.#givesUp.set(client, await prepareSession(client))
      return this.#givesUp.get(client) === true
        ? this.#runAlone(client, text, values)
        : this.#runAndCancel(client, text, values)
    })
  }

  /** Makes the server give up what takes too long. Behind a pooler it may have begun with it only now. */
  async #runAndCancel(client: PgClient, text: string, values: unknown[]): Promise<readonly (readonly unknown[])[]> {
    let cancelling: Promise<void> | undefined
    const timer = setTimeout(() => {
      cancelling = cancel(client)
    }, LOCKED_FOR_MS)
    try {
      return await this.#runAlone(client, text, values)
    } catch (error) {
      if (error instanceof NoAnswer) await cancel(client)
      throw error
    } finally {
      clearTimeout(timer)
      await cancelling // it must not reach the next statement of the connection
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
        return await this.#runPrepared(client, text, values)
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
    for (const pool of [this.#pool, this.#own]) {
      const idle = await Promise.allSettled(Array.from({ length: pool.idleCount ?? 0 }, () => pool.connect()))
      for (const one of idle)
        if (one.status === 'fulfilled') one.value.release((this.#openedAt.get(one.value) ?? 0) <= sentAt)
    }
  }
}

interface PoolOfPg extends PgPool {
  readonly options: { readonly password?: unknown }
  readonly Client: unknown
  emit(event: 'connect', client: PgClient): unknown
  end(...given: unknown[]): unknown
}

/** Makes a pool with the options of the app's, which ends with that and keeps no process alive. Wrappers of a pool are used themselves. */
function makeOwnPool(given: PgPool): PgPool {
  const pool = given as PoolOfPg // checked by the next line
  if (pool.options === undefined || pool.Client === undefined) return given
  const Pool = pool.constructor as new (options: object, client: unknown) => PoolOfPg // what has a Client is of pg
  const own = new Pool({ ...pool.options, password: pool.options.password }, pool.Client) // the spread omits the password
  Object.assign(own.options, OWN)
  own.on('connect', (client) => pool.emit('connect', client)) // the app may set its connections up
  const { end } = pool
  pool.end = (...given) => Promise.all([end.apply(pool, given), own.end()]).then(() => {})
  return own
}

/** Serialization failures and deadlocks. */
const CONFLICT = /^40(?:001|P01)$/
/** The statement is not prepared, or by another process (as behind a PgBouncer before 1.21), or does not fit. */
const NOT_PREPARED = /^(?:26000|42P05|0A000)$/
/** A connection that broke, or a server that shuts down. */
const LOST = /^(?:08|57P)/

const ignore = () => {}
