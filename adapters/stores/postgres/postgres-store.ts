import {
  type Claim,
  type Logger,
  OptionChecker,
  type Position,
  STORE_LIMIT_MS,
  systemClock,
  type TransactionalStore,
  type TransactionClaim,
} from '../../../src/engine.ts'
import { BUSY, DONE, makeTokens, NO_MARKS } from '../claims.ts'
import { LostClaims } from '../lost-claims.ts'
import { decodeMark, encodeKey, encodeMark, toArrayLiteral } from './encode.ts'
import { Groups } from './groups.ts'
import { type CheckedOptions, checkOptions, checkTableName, type PostgresStoreOptions } from './options.ts'
import { type ClientOf, type PgPool, runStatement } from './pool.ts'
import { SharedPool } from './shared-pool.ts'
import { makeStatements, type Statements, SWEEP_SIZE, TABLE_VERSION, type TableName } from './statements.ts'
import { Table, type TableKind } from './table.ts'
import { Transactions } from './transactions.ts'

/** A store on Postgres. */
export interface PostgresStore<Tx> extends TransactionalStore<Tx> {
  /**
   * Creates the table, or updates it to this version; several processes may call it at the same time. The pool's user needs the right to
   * create. If it does not have it, run the SQL of `postgresSchema()`.
   *
   * @throws PosternError `store_unavailable`, by rejecting
   */
  migrate(): Promise<void>
}

/**
 * Deduplication across processes on a table of Postgres. It has `context.transaction`: handlers write in the same database, and their
 * writes are committed together with their finish marks. It works behind PgBouncer in transaction mode.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`
 * @example
 * const pool = new Pool({ connectionString: process.env.DATABASE_URL })
 * const store = postgresStore({ pool })
 * await store.migrate()
 * const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET, store })
 */
export function postgresStore<P extends PgPool, Tx = ClientOf<P>>(
  options: PostgresStoreOptions<P, Tx>,
): PostgresStore<Tx> {
  return new StoreOnPostgres<Tx>(checkOptions(options as PostgresStoreOptions<PgPool, Tx>)) // the default client is the pool's own
}

/**
 * Returns the SQL that `store.migrate()` runs, for apps that migrate by other means. It can be run again.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`
 */
export function postgresSchema(table: TableName = {}): string {
  return makeStatements(checkTableName(new OptionChecker('postgresSchema'), table), 1).create
}

function kindOf(retentionMs: number): TableKind<Statements> {
  return {
    noun: 'store',
    comment: `postern ${TABLE_VERSION}`,
    endings: [''],
    makeStatements: (name) => makeStatements(name, retentionMs),
  }
}

interface Asked {
  readonly key: string
  readonly token: string
  readonly lease: number
  readonly positionKeys: readonly string[] | undefined
}

interface Settled {
  readonly key: string
  readonly token: string
  readonly lease: number | null
  readonly done: boolean
  readonly marks: readonly string[]
  readonly positions?: readonly Position[]
}

/** The most connections that claims without an answer may use at the same time. */
const MOST_CLAIMING = 2
const SWEEP_EVERY_MS = 60_000
const NEXT_BATCH_MS = 100

class StoreOnPostgres<Tx> implements PostgresStore<Tx> {
  readonly retentionMs: number
  readonly keepsPositions = true
  readonly #pool: SharedPool
  readonly #table: Table<Statements>
  readonly #transactions: Transactions<Tx>
  readonly #claims: Groups<Asked, Claim>
  readonly #settlements: Groups<Settled, boolean>
  #sweepAt = 0
  readonly #lost = new LostClaims((key, token) =>
    this.#settle({ key, token, lease: null, done: false, marks: NO_MARKS }),
  )
  readonly #newToken = makeTokens()

  constructor({ pool, retentionMs, schema, table, wrap }: CheckedOptions<Tx>) {
    this.retentionMs = retentionMs
    this.#pool = SharedPool.of(pool)
    this.#table = new Table(this.#pool, { schema, table }, kindOf(retentionMs))
    this.#transactions = new Transactions(this.#pool, this.#table, wrap)
    const toError = (cause: unknown) => this.#table.explain(cause)
    this.#claims = new Groups({
      run: (asked) => this.#claimAll(asked),
      toError,
      onNoAnswer: (asked) => {
        for (const { key, token, lease } of asked) this.#lost.add(key, token, lease)
      },
      most: MOST_CLAIMING,
    })
    this.#settlements = new Groups({ run: (settled) => this.#settleAll(settled), toError })
  }

  reportTo(logger: Logger): void {
    this.#pool.notices.addLogger(logger)
    this.#table.lookLater(logger)
  }

  migrate(): Promise<void> {
    return this.#table.migrate()
  }

  claim(key: string, leaseMs: number, positionKeys?: readonly string[]): Promise<Claim> {
    const token = this.#newToken()
    return this.#claims.add({ key: encodeKey(key), token, lease: leaseMs, positionKeys: positionKeys?.map(encodeKey) })
  }

  renew(
    key: string,
    token: string,
    leaseMs: number,
    marks: readonly string[],
    positions?: readonly Position[],
  ): Promise<boolean> {
    return this.#settle({ key: encodeKey(key), token, lease: leaseMs, done: false, marks }, positions)
  }

  complete(
    key: string,
    token: string,
    positions?: readonly Position[],
    by: readonly string[] = NO_MARKS,
  ): Promise<boolean> {
    return this.#settle({ key: encodeKey(key), token, lease: null, done: true, marks: by }, positions)
  }

  async forget(key: string): Promise<boolean> {
    try {
      const { forget } = await this.#table.statements()
      return (await this.#pool.runOwn(forget, [encodeKey(key)])).length === 1
    } catch (error) {
      throw this.#table.explain(error)
    }
  }

  release(key: string, token: string, marks: readonly string[], positions?: readonly Position[]): Promise<boolean> {
    return this.#settle({ key: encodeKey(key), token, lease: null, done: false, marks }, positions)
  }

  transaction<T>(claim: TransactionClaim, work: (tx: Tx) => T | PromiseLike<T>): Promise<T> {
    return this.#transactions.run(claim, work)
  }

  #settle(settled: Settled, positions?: readonly Position[]): Promise<boolean> {
    const encoded = positions && { positions: positions.map(({ key, at }) => ({ key: encodeKey(key), at })) }
    return this.#settlements.add({ ...settled, marks: settled.marks.map(encodeMark), ...encoded })
  }

  async #claimAll(asked: readonly Asked[]): Promise<readonly Claim[]> {
    const { claim } = await this.#table.statements()
    const rows = await this.#pool.runOwn(claim, [
      toArrayLiteral(asked.map(({ key }) => key)),
      toArrayLiteral(asked.map(({ token }) => token)),
      toArrayLiteral(asked.map(({ lease }) => lease)),
      toArrayLiteral([...new Set(asked.flatMap(({ positionKeys = [] }) => positionKeys))]),
    ])
    const known = new Map(rows.map((row) => [row[0], row]))
    if (known.has(null)) throw new Error(`Postgres ran the claim more than ${STORE_LIMIT_MS} ms after it was sent`)
    const positionOf = (key: string) => {
      const [, at] = known.get(key) ?? []
      return at === undefined ? undefined : Number(at)
    }
    return asked.map(({ key, token, positionKeys }) => {
      const claim = toClaim(token, known.get(key))
      return positionKeys && claim.state === 'claimed' ? { ...claim, positions: positionKeys.map(positionOf) } : claim
    })
  }

  async #settleAll(settled: readonly Settled[]): Promise<readonly (boolean | undefined)[]> {
    const { settle } = await this.#table.statements()
    const places = settled.flatMap(({ key, positions = [] }) =>
      positions.map((position) => ({ event: key, ...position })),
    )
    const rows = await this.#pool.runOwn(settle, [
      JSON.stringify(settled),
      toArrayLiteral(places.map(({ event }) => event)),
      toArrayLiteral(places.map(({ key }) => key)),
      toArrayLiteral(places.map(({ at }) => at)),
    ])
    this.#sweep()
    const known = new Map(rows.map(([key, answer]) => [key, answer === 'true']))
    return settled.map(({ key }) => known.get(key))
  }

  /** Removes expired rows in batches while the store is in use. Mostly it does nothing. */
  #sweep(): void {
    const now = systemClock.monotonic()
    if (now < this.#sweepAt || this.#pool.isEnding) return
    this.#sweepAt = Number.POSITIVE_INFINITY
    const sweeping = this.#table
      .statements()
      .then(({ sweep }) => this.#pool.use((client) => runStatement(client, sweep)))
      .catch(() => []) // The next sweep may succeed, and a lasting fault appears at the claims.
    sweeping.then(({ length }) => {
      // Not all processes sweep at the same moment.
      this.#sweepAt = length < SWEEP_SIZE ? now + SWEEP_EVERY_MS * (1 + Math.random()) : 0
      if (length === SWEEP_SIZE) setTimeout(() => this.#sweep(), NEXT_BATCH_MS).unref()
    })
  }
}

/** @param row the row of a key that existed before: marks if it was free, and what it was completed with if it is done */
function toClaim(token: string, row: readonly unknown[] | undefined): Claim {
  if (row === undefined) return { state: 'claimed', token, marks: NO_MARKS }
  const [, marks, by] = row
  const decode = (texts: string) => (JSON.parse(texts) as string[]).map(decodeMark) // an array of text
  if (typeof marks === 'string') return { state: 'claimed', token, marks: decode(marks) }
  if (typeof by !== 'string') return BUSY
  return by === '[]' ? DONE : { state: 'done', by: decode(by) }
}
