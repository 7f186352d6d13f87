import { type Logger, PosternError, STORE_LIMIT_MS } from '../../../src/engine.ts'
import { asText, quoteName } from './encode.ts'
import { INSUFFICIENT_PRIVILEGE, NoAnswer, type PgClient, runStatement, sqlStateOf } from './pool.ts'
import type { SharedPool } from './shared-pool.ts'
import { nameOf, type TableName } from './statements.ts'

/** The lock for creating tables: two processes that create them concurrently would fail. It ends with the transaction. */
const LOCK = 7_066_398_211
const UNDEFINED_TABLE = '42P01'
const LOCK_NOT_AVAILABLE = '55P03'
/** The time for which `migrate()` waits for a lock of another session. */
const LOCKED_FOR_S = 10
/** Longer than the server's own limit, so that the server refuses before this side gives up. */
const MIGRATE_LIMIT_MS = LOCKED_FOR_S * 1_000 + STORE_LIMIT_MS
/** Undoes, for one message, a search path that an app has set: it would lead to another table. */
const DEFAULT_PATH = 'SET LOCAL search_path TO DEFAULT'
/** Time from the start of the app after which its tables should exist, in milliseconds. */
const STARTED_AFTER_MS = 5_000
const RIGHTS = 'SELECT, INSERT, UPDATE, DELETE'
const SCHEMA_OF = { store: 'postgresSchema', inbox: 'postgresInboxSchema' } as const

/** Differences between the table of a store and that of an inbox. */
export interface TableKind<S> {
  readonly noun: 'store' | 'inbox'
  /** The comment of the table, which contains the version of its structure. */
  readonly comment: string
  /** The endings of the names of all tables. */
  readonly endings: readonly string[]
  makeStatements(name: Required<TableName>): S
  /** Returns what `migrate` runs on a table that is there. */
  readonly repair?: (statements: S) => string
}

/** Creates and finds the table of a store or an inbox, and has the statements for it. */
export class Table<S extends { readonly create: string }> {
  readonly #pool: SharedPool
  readonly #name: Required<TableName>
  readonly #kind: TableKind<S>
  #statements: Promise<S> | undefined

  constructor(pool: SharedPool, name: Required<TableName>, kind: TableKind<S>) {
    this.#pool = pool
    this.#name = name
    this.#kind = kind
  }

  /** Rejects with the kind's code if there is no table. */
  statements(): Promise<S> {
    this.#statements ??= this.#find().catch((error: unknown) => {
      this.#statements = undefined
      throw error
    })
    return this.#statements
  }

  /** Logs that there is no table, if that is so once the app has started: before the first delivery is answered 503. */
  lookLater(logger: Logger): void {
    const look = async () => {
      const [row] = await this.#pool.runOwn(findSchema(this.#name))
      if (row === undefined) logger.error({ code: `${this.#kind.noun}_unavailable` }, this.#missing().message)
    }
    const ignore = () => {} // without a server, as in a build, nothing is known
    setTimeout(() => void look().catch(ignore), STARTED_AFTER_MS).unref()
  }

  async #find(): Promise<S> {
    if (this.#name.schema !== undefined) return this.#kind.makeStatements(this.#name)
    const [row] = await this.#pool.runOwn(findSchema(this.#name)).catch((error: unknown) => {
      // No claim was sent, so that none needs a release.
      throw error instanceof NoAnswer ? new Error(error.message, { cause: error.cause }) : error
    })
    if (row === undefined) throw this.#missing()
    return this.#kind.makeStatements({ ...this.#name, schema: String(row[0]) })
  }

  /** Creates the table if it does not exist, and refuses one of a later version of this package. */
  async migrate(): Promise<void> {
    const statements = this.#kind.makeStatements(this.#name)
    const create = makeTable(this.#name, statements.create, this.#kind.repair?.(statements))
    const [row = []] = await this.#pool.use(async (client) => {
      try {
        return await runStatement(client, create, { limitMs: MIGRATE_LIMIT_MS })
      } catch (cause) {
        throw await this.#explainMigration(client, cause)
      }
    })
    const found = /^postern .*/.exec(String(row[0]))?.[0]
    if (found !== undefined && found !== this.#kind.comment)
      throw this.#unavailable(
        `the table is of version "${found}", but this version of the package supports "${this.#kind.comment}". Update the package in every process.`,
      )
  }

  explain(cause: unknown): unknown {
    const state = sqlStateOf(cause)
    if (state === UNDEFINED_TABLE) return this.#missing(cause)
    if (state !== INSUFFICIENT_PRIVILEGE) return cause
    return this.#unavailable(`the pool's user may not use the table: ${this.#grantTo('it')}.`, cause)
  }

  #missing(cause?: unknown): PosternError {
    const { noun } = this.#kind
    const also = noun === 'inbox' ? ' or npx postern inbox migrate --postgres URL,' : ''
    return this.#unavailable(
      `the table ${this.#name.table} does not exist. Call await ${noun}.migrate() once when the app starts,${also} or run the SQL that ${SCHEMA_OF[noun]}() returns.`,
      cause,
    )
  }

  async #explainMigration(client: PgClient, cause: unknown): Promise<PosternError> {
    const state = sqlStateOf(cause)
    if (state === LOCK_NOT_AVAILABLE) return this.#unavailable(LOCKED, cause)
    if (state !== INSUFFICIENT_PRIVILEGE)
      return this.#unavailable(`migrate() could not create its table: ${Object(cause).message}.`, cause)
    const { schema } = this.#name
    const [[name] = []] = await runStatement(client, 'SELECT current_user::text').catch(() => [])
    const user = name === undefined ? 'the user of the pool' : quoteName(String(name))
    const given = schema === undefined ? '' : `{ schema: '${schema}' }`
    return this.#unavailable(
      `${user} may not create ${nameOf(this.#name)}. Let a user who may do so run the SQL that ${SCHEMA_OF[this.#kind.noun]}(${given}) returns, and then ${this.#grantTo(user)}.`,
      cause,
    )
  }

  #grantTo(user: string): string {
    const { schema, table } = this.#name
    const names = this.#kind.endings.map((ending) => nameOf({ schema, table: `${table}${ending}` }))
    return `GRANT ${RIGHTS} ON ${names.join(', ')} TO ${user}`
  }

  #unavailable(message: string, cause?: unknown): PosternError {
    const { noun } = this.#kind
    const owner = noun === 'store' ? 'postgresStore' : 'postgresInbox'
    return new PosternError(`${noun}_unavailable`, `${owner}: ${message}`, cause === undefined ? {} : { cause })
  }
}

/** A message that returns the schema to which a name resolves. */
function findSchema(name: TableName): string {
  return `${DEFAULT_PATH};
SELECT n.nspname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass(${asText(nameOf(name))})`
}

/** Creates the table if there is none, and returns its comment. A process that falls silent leaves no lock. */
function makeTable(name: TableName, create: string, repair?: string): string {
  const regclass = `to_regclass(${asText(nameOf(name))})`
  const otherwise = repair === undefined ? '' : `ELSE EXECUTE ${asText(repair)};`
  const body = `BEGIN IF ${regclass} IS NULL THEN EXECUTE ${asText(create)}; ${otherwise} END IF; END`
  return `${DEFAULT_PATH}; SET LOCAL lock_timeout = '${LOCKED_FOR_S}s';
SELECT pg_advisory_xact_lock(${LOCK});
DO ${asText(body)};
SELECT obj_description(${regclass}, 'pg_class')`
}

const LOCKED = `migrate() waited ${LOCKED_FOR_S} s for another session that creates a table and does not end. Call it again, or find that session: SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND (classid::bigint << 32 | objid::bigint) = ${LOCK} AND granted; then end it with pg_terminate_backend(pid).`
