import { strictEqual } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isThenable } from '../../../src/protocol/promises.ts'
import type { Claim, Store } from '../../../src/store/store.ts'
import type {
  SyncTransactionalStore,
  TransactionalStore,
  TransactionClaim,
} from '../../../src/store/transactional-store.ts'

/** A store may refuse a call that takes longer than some seconds, whatever the lease. */
export const LATEST_MS = 2_400

export interface CaseDefinition {
  readonly name: string
  run(trial: Trial): Promise<void>
  /**
   * `sharing`: two stores on one engine. `engine clock`: also a clock that is independent of their processes. `outage`: an engine that
   * can be stopped. `transaction`: a store with transactions, `asynchronous` if work may wait inside them.
   */
  readonly needs?: 'sharing' | 'engine clock' | 'outage' | 'transaction' | 'asynchronous transaction'
  /** Retention of the stores, in leases. Default: the default of the store. */
  readonly retention?: number
}

export type Runs = Readonly<Record<string, (trial: Trial) => Promise<void>>>

export function toCases(runs: Runs, needs: Omit<CaseDefinition, 'name' | 'run'> = {}): readonly CaseDefinition[] {
  return Object.entries(runs).map(([name, run]) => ({ ...needs, name, run }))
}

export interface TrialHost {
  /** Returns the same two stores for every trial with the same retention. */
  stores(retentionMs: number | undefined): Promise<{ readonly store: Store; readonly another: Store }>
  readonly pass: ((ms: number) => void | Promise<void>) | undefined
  readonly outage: { begin(): void | Promise<void>; end(): void | Promise<void> } | undefined
  readonly transaction: TransactionTools | undefined
}

/** Tools with which the suite writes in a transaction of the tested store, and reads the result afterwards. */
export interface TransactionTools<Tx = never> {
  /** Writes a row with this name in a transaction of the store. Must be synchronous if the transactions are. */
  write(tx: Tx, row: string): unknown
  /** Returns true if a row was committed, as another connection sees it. */
  has(row: string): boolean | Promise<boolean>
}

export type Claimed = Extract<Claim, { readonly state: 'claimed' }>

/**
 * Trial of one case: the stores, a key that no other trial uses, and the passing of time. Times are in leases, so that a trial that was
 * too slow to be conclusive can be repeated with longer ones.
 */
export class Trial {
  readonly store: Store
  /** Second store on the same engine, as in another process; the same store if stores share no state. */
  readonly another: Store
  readonly key: string = `store-suite:${randomUUID()}`
  readonly leaseMs: number
  readonly host: TrialHost
  /** Time at which the next step begins, if every step but the passing of time takes none. */
  #onTime = performance.now()
  #latestMs = 0

  constructor(host: TrialHost, stores: { readonly store: Store; readonly another: Store }, leaseMs: number) {
    this.host = host
    this.store = stores.store
    this.another = stores.another
    this.leaseMs = leaseMs
  }

  /** The most by which a step was late so far, in milliseconds. Zero if the test moves the clock. */
  get latestMs(): number {
    this.#noteDelay()
    return this.host.pass === undefined ? this.#latestMs : 0
  }

  #noteDelay(): void {
    this.#latestMs = Math.max(this.#latestMs, performance.now() - this.#onTime)
  }

  async pass(leases: number): Promise<void> {
    const from = performance.now()
    const ms = Math.round(leases * this.leaseMs)
    if (this.host.pass !== undefined) return this.host.pass(ms)
    this.#noteDelay()
    this.#onTime += ms
    // A timer that is set late in a turn of the event loop fires early, by what the turn has taken.
    for (let rest = from + ms - performance.now(); rest > 0; rest = from + ms - performance.now()) await sleep(rest)
  }

  /** Lets a claim expire that was just made or renewed, with a margin for the resolution of the engine's clock. */
  outlastLease(): Promise<void> {
    return this.pass(7 / 6)
  }

  /** Waits for work of any duration, which makes no step late. */
  async exempt<T>(work: () => PromiseLike<T> | T): Promise<T> {
    const from = performance.now()
    try {
      return await work()
    } finally {
      this.#onTime += performance.now() - from
    }
  }

  async claim(key: string = this.key, store: Store = this.store): Promise<Claim> {
    return await store.claim(key, this.leaseMs)
  }

  async take(key: string = this.key, store: Store = this.store): Promise<Claimed> {
    const claim = await this.claim(key, store)
    if (claim.state !== 'claimed') strictEqual(claim.state, 'claimed', `claim of ${key}`)
    return claim as Claimed // the line above throws otherwise
  }

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
    // A store may have either, both or none.
    const { transaction, transactionSync } = store as Partial<
      TransactionalStore<unknown> & SyncTransactionalStore<unknown>
    >
    const run = transaction ?? transactionSync
    if (run === undefined) throw new TypeError('The store has neither transaction() nor transactionSync().')
    return run.call(store, { key, token, mark, signal, position }, work)
  }

  write(tx: unknown, row: string): unknown {
    return this.host.transaction?.write(tx as never, this.#nameOf(row)) // the store passed it
  }

  async has(row: string): Promise<boolean> {
    const answer: unknown = await this.host.transaction?.has(this.#nameOf(row))
    if (typeof answer !== 'boolean')
      throw new TypeError(`storeSuite: transaction.has() returned ${String(answer)}; return true or false.`)
    return answer
  }

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

export const DONE: Claim = { state: 'done' }
export const BUSY: Claim = { state: 'busy' }
export const STRANGER = 'a-token-of-nobody'

export function sorted(marks: readonly string[]): readonly string[] {
  return [...marks].sort()
}
