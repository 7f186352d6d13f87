import pg from 'pg'
// @ts-expect-error an older release of pg, without types under this name
import pg811 from 'pg811'
import type { Store, TransactionClaim } from 'postern'
import { type PostgresStore, postgresStore } from 'postern/postgres'
import { afterAll, beforeAll } from 'vitest'
import { DEFAULT_RETENTION_MS } from '../../../../src/engine.ts'
import { FaultyProxy } from '../../../engines/faulty-proxy.ts'
import { type PostgresServer, startPostgres } from '../../../engines/postgres-server.ts'
import { untilClaimed } from '../../../store/until-claimed.ts'

/** Longer than any test runs, so that no claim becomes free by itself. */
export const LEASE_MS = 600_000

/** The drivers under test. The older one has neither a time limit of a single query nor a state of transactions. */
export const DRIVERS: readonly (readonly [version: string, driver: typeof pg])[] = [
  ['8.11', pg811],
  ['as installed', pg],
]

/** Starts a server for the tests of one file, with pools that end with it. */
export class Scene {
  #server: PostgresServer | undefined
  readonly #driver: typeof pg
  readonly #pools: pg.Pool[] = []
  readonly #proxies: FaultyProxy[] = []

  constructor(driver = pg) {
    this.#driver = driver
    beforeAll(async () => {
      this.#server = await startPostgres()
    })
    afterAll(async () => {
      for (const proxy of this.#proxies) proxy.close()
      await Promise.all(this.#pools.filter(({ ended }) => !ended).map((pool) => pool.end()))
      await this.#server?.remove()
    })
  }

  get server(): PostgresServer {
    if (this.#server === undefined) throw new Error('the server is started before the tests')
    return this.#server
  }

  pool(options: pg.PoolConfig = {}): pg.Pool {
    const pool = this.#open(options)
    pool.on('error', () => {}) // the tests cut connections
    return pool
  }

  /** Makes a store on its own pool, and returns both. */
  async store(
    options: pg.PoolConfig = {},
    retentionMs = DEFAULT_RETENTION_MS,
  ): Promise<{ store: PostgresStore<pg.PoolClient>; pool: pg.Pool }> {
    const pool = this.#open(options) // the store must handle its errors
    const store = postgresStore({ pool, retentionMs })
    await store.migrate()
    return { store, pool }
  }

  /** Makes a store on a pool whose connections go through a proxy. */
  async faulty(options: pg.PoolConfig = {}) {
    const proxy = new FaultyProxy(this.server.port)
    const port = await proxy.listen()
    this.#proxies.push(proxy)
    const url = this.server.url.replace(/:\d+\//, `:${port}/`)
    return { proxy, ...(await this.store({ connectionString: url, ...options })) }
  }

  #open(options: pg.PoolConfig): pg.Pool {
    const pool = new this.#driver.Pool({ connectionString: this.server.url, ...options })
    this.#pools.push(pool)
    return pool
  }
}

let count = 0

/** Returns keys that no other test has. */
export function newKey(): string {
  return `7:default4:acme5:evt_${process.pid}_${count++}`
}

export const take = (store: Store, key: string, leaseMs = LEASE_MS) => untilClaimed(store, () => key, leaseMs)

/** Returns a claim in the form in which the receiver passes it to a transaction. */
export async function claimFor(
  store: Store,
  { key = newKey(), mark = 'save', signal = new AbortController().signal, leaseMs = LEASE_MS } = {},
): Promise<TransactionClaim> {
  return { key, token: (await take(store, key, leaseMs)).token, mark, signal }
}

/** Returns the option of a pool whose clients send each query by a function, which may watch or change it. */
export function sendingBy(
  onQuery: (send: (...given: unknown[]) => Promise<unknown>, ...given: unknown[]) => unknown,
  driver = pg,
): pg.PoolConfig {
  class Client extends driver.Client {
    override query(...given: unknown[]): never {
      const send = (...changed: unknown[]) => Reflect.apply(super.query, this, changed) // one of many forms
      return onQuery(send, ...given) as never
    }
  }
  return { Client } as pg.PoolConfig
}
