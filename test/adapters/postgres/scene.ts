import { createServer, connect as dial, type Socket } from 'node:net'
import pg from 'pg'
import type { Claim, Store, TransactionClaim } from 'postern'
import { type PostgresStore, postgresStore } from 'postern/postgres'
import { afterAll, beforeAll } from 'vitest'
import { type PostgresServer, startPostgres } from '../../engines/postgres-server.ts'

export const LEASE_MS = 15_000

/** A server for the tests of one file, with pools that end with it. */
export class Scene {
  #server: PostgresServer | undefined
  readonly #pools: pg.Pool[] = []

  constructor() {
    beforeAll(async () => {
      this.#server = await startPostgres()
    }, 60_000)
    afterAll(async () => {
      await Promise.all(this.#pools.filter(({ ended }) => !ended).map((pool) => pool.end()))
      await this.#server?.remove()
    }, 60_000)
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

  /** A store on a pool of its own, and that pool. */
  async store(options: pg.PoolConfig = {}): Promise<{ store: PostgresStore<pg.PoolClient>; pool: pg.Pool }> {
    const pool = this.#open(options) // whose errors are the store's to bear
    const store = postgresStore({ pool })
    await store.migrate()
    return { store, pool }
  }

  #open(options: pg.PoolConfig): pg.Pool {
    const pool = new pg.Pool({ connectionString: this.server.url, ...options })
    this.#pools.push(pool)
    return pool
  }
}

let count = 0

/** Keys that no other test has. */
export function newKey(): string {
  return `7:default4:acme5:evt_${process.pid}_${count++}`
}

export async function take(
  store: Store,
  key: string,
  leaseMs = LEASE_MS,
): Promise<Extract<Claim, { readonly state: 'claimed' }>> {
  const claim = await store.claim(key, leaseMs)
  if (claim.state !== 'claimed') throw new Error(`expected to get the key, but it is ${claim.state}`)
  return claim
}

/** A claim as the receiver gives it to a transaction. */
export async function claimFor(
  store: Store,
  { key = newKey(), mark = 'save', signal = new AbortController().signal, leaseMs = LEASE_MS } = {},
): Promise<TransactionClaim> {
  return { key, token: (await take(store, key, leaseMs)).token, mark, signal }
}

/** Stands between a pool and the server, and can cut all connections when a text goes by. */
export class CuttingProxy {
  readonly #server
  readonly #sockets = new Set<Socket>()
  /** Cut when a client sends this: before it goes to the server, or right behind it. */
  cutAt: { readonly text: string; readonly isForwarded: boolean } | undefined

  constructor(target: number) {
    this.#server = createServer((client) => {
      const server = dial(target, '127.0.0.1')
      for (const socket of [client, server]) {
        this.#sockets.add(socket)
        socket.on('error', () => {})
      }
      server.on('close', () => client.destroy())
      client.on('close', () => server.end()) // what was written still gets there
      server.pipe(client)
      client.on('data', (data) => {
        const isCut = this.cutAt !== undefined && data.includes(this.cutAt.text)
        if (!isCut) return void server.write(data)
        client.destroy()
        if (this.cutAt?.isForwarded) server.write(data)
        else server.destroy()
        this.cutAt = undefined
      })
    })
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('a TCP server has an address')
    return address.port
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }
}
