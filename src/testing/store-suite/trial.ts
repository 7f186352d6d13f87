import { strictEqual } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isThenable } from '../../protocol/promises.ts'
import type { Claim, Store } from '../../store/store.ts'
import type { SyncTransactionalStore, TransactionalStore, TransactionClaim } from '../../store/transactional-store.ts'

/** What a case asks for beside a store of its own. */
export interface CaseDefinition {
  readonly name: string
  /**
   * `sharing`: two stores on one engine. `engine clock`: the same, with a clock that is not their processes'. `outage`: an engine that
   * can be taken away. `transaction`: a store that has them, `asynchronous` if work may wait within them.
   */
  readonly needs?: 'sharing' | 'engine clock' | 'outage' | 'transaction' | 'asynchronous transaction'
  /** The retention of the stores, in leases. Where there is none it is what the store has by default. */
  readonly retention?: number
  /** Throws where the store does not keep the contract. */
  run(trial: Trial): Promise<void>
}

/** Where a trial gets its stores from, and who moves their time. */
export interface TrialHost {
  /** The same two stores for every trial with the same retention. */
  stores(retentionMs: number | undefined): Promise<{ readonly store: Store; readonly another: Store }>
  readonly pass: ((ms: number) => void | Promise<void>) | undefined
  readonly outage: { begin(): void | Promise<void>; end(): void | Promise<void> } | undefined
  readonly transaction: TransactionTools | undefined
}

/** How the suite writes within a transaction of the store that is tried, and looks at what is there afterwards. */
export interface TransactionTools<Tx = never> {
  /** Writes a row, named by text, by what the store's transactions are given. Must not wait if they must not. */
  write(tx: Tx, row: string): unknown
  /** Returns whether a row was committed, as any other connection sees it. */
  has(row: string): boolean | Promise<boolean>
}

export type Claimed = Extract<Claim, { readonly state: 'claimed' }>

/**
 * One go at one case: the stores, a key that no other trial has, and the passing of time. Times are told in leases, so that a go
 * that was too slow to mean anything can be repeated with longer ones.
 */
export class Trial {
  readonly store: Store
  /** Another store on the same engine, as another process has it; the same store where nothing is shared. */
  readonly another: Store
  readonly key: string = `store-suite:${randomUUID()}`
  readonly leaseMs: number
  readonly host: TrialHost
  readonly #startedAt = performance.now()
  #plannedMs = 0

  constructor(host: TrialHost, stores: { readonly store: Store; readonly another: Store }, leaseMs: number) {
    this.host = host
    this.store = stores.store
    this.another = stores.another
    this.leaseMs = leaseMs
  }

  /** How much longer than planned this took so far. Time that is moved by hand does not run away. */
  get overrunMs(): number {
    return this.host.pass === undefined ? performance.now() - this.#startedAt - this.#plannedMs : 0
  }

  /** Lets the time of so many leases pass. */
  async pass(leases: number): Promise<void> {
    const ms = Math.round(leases * this.leaseMs)
    this.#plannedMs += ms
    await (this.host.pass ?? sleep)(ms)
  }

  /** Lets a claim end that was made or renewed just now, with a little more, whatever the engine's clock counts in. */
  outlastLease(): Promise<void> {
    return this.pass(7 / 6)
  }

  /** Waits for something that takes what it takes, and does not count as time lost. */
  async exempt<T>(work: PromiseLike<T> | T): Promise<T> {
    const from = performance.now()
    try {
      return await work
    } finally {
      this.#plannedMs += performance.now() - from
    }
  }

  async claim(key: string = this.key, store: Store = this.store): Promise<Claim> {
    return await store.claim(key, this.leaseMs)
  }

  /** Claims a key that must be free. */
  async take(key: string = this.key, store: Store = this.store): Promise<Claimed> {
    const claim = await this.claim(key, store)
    if (claim.state !== 'claimed') strictEqual(claim.state, 'claimed', `claim of ${key}`)
    return claim as Claimed // the line above throws otherwise
  }

  /** Runs work in a transaction of the store, for a handler of the claim. */
  async transact(
    {
      key = this.key,
      token,
      mark = 'mark',
      signal = new AbortController().signal,
      position,
    }: Partial<TransactionClaim> & Pick<TransactionClaim, 'token'>,
    work: (tx: unknown) => unknown,
  ): Promise<unknown> {
    const { store } = this
    // Whether it has either is asked here.
    const { transaction, transactionSync } = store as Partial<
      TransactionalStore<unknown> & SyncTransactionalStore<unknown>
    >
    const run = transaction ?? transactionSync
    if (run === undefined) throw new TypeError('The store has neither transaction() nor transactionSync().')
    return run.call(store, { key, token, mark, signal, position }, work)
  }

  write(tx: unknown, row: string): unknown {
    return this.host.transaction?.write(tx as never, this.#nameOf(row)) // it is what the store gave
  }

  async has(row: string): Promise<boolean> {
    const answer: unknown = await this.host.transaction?.has(this.#nameOf(row))
    if (typeof answer !== 'boolean')
      throw new TypeError(`storeSuite: transaction.has() returned ${String(answer)}; return true or false.`)
    return answer
  }

  /** Writes and goes on, immediately if the write did not wait. */
  writeThen(tx: unknown, row: string, next: () => unknown): unknown {
    const written = this.write(tx, row)
    return isThenable(written) ? written.then(next) : next()
  }

  #nameOf(row: string): string {
    return `${this.key} ${row}`
  }

  renew(token: string, marks: readonly string[] = [], store: Store = this.store): boolean | Promise<boolean> {
    return store.renew(this.key, token, this.leaseMs, marks)
  }
}

/** What a claim answers to those who come too late. */
export const DONE: Claim = { state: 'done' }
export const BUSY: Claim = { state: 'busy' }
/** A token that nobody was ever given. */
export const STRANGER = 'a-token-of-nobody'

export function sorted(marks: readonly string[]): readonly string[] {
  return [...marks].sort()
}

/** Lets the others have their turn, so that stores that answer at once are taken turns on as well. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
