import { PosternError } from '../../../src/index.ts'
import { asText, quoteName } from './encode.ts'
import { CALL_LIMIT_MS, INSUFFICIENT_PRIVILEGE, NoAnswer, type PgClient, runStatement, sqlStateOf } from './pool.ts'
import type { SharedPool } from './shared-pool.ts'
import { makeStatements, nameOf, type Statements, TABLE_VERSION, type TableName } from './statements.ts'

/** The lock for creating tables: two processes that create them concurrently would fail. It ends with the transaction. */
const LOCK = 7_066_398_211
const UNDEFINED_TABLE = '42P01'
const UNDEFINED_SCHEMA = '3F000'
const LOCK_NOT_AVAILABLE = '55P03'
/** The time for which `migrate()` waits for a lock of another session. */
const LOCKED_FOR_S = 10
/** Longer than the server's own limit, so that the server refuses before this side gives up. */
const MIGRATE_LIMIT_MS = LOCKED_FOR_S * 1_000 + CALL_LIMIT_MS
/** Undoes, for one message, a search path that an app has set: it would lead to another table. */
const DEFAULT_PATH = 'SET LOCAL search_path TO DEFAULT'
const RIGHTS = 'SELECT, INSERT, UPDATE, DELETE'

/** Creates and finds the table of a store, and has the statements for it. */
export class Table {
  readonly #pool: SharedPool
  readonly #name: Required<TableName>
  readonly #retentionMs: number
  #statements: Promise<Statements> | undefined

  constructor(pool: SharedPool, name: Required<TableName>, retentionMs: number) {
    this.#pool = pool
    this.#name = name
    this.#retentionMs = retentionMs
  }

  /** Rejects with `store_unavailable` if there is no table. */
  statements(): Promise<Statements> {
    this.#statements ??= this.#find().catch((error: unknown) => {
      this.#statements = undefined
      throw error
    })
    return this.#statements
  }

  async #find(): Promise<Statements> {
    if (this.#name.schema !== undefined) return makeStatements(this.#name, this.#retentionMs)
    const [row] = await this.#pool.runKept(findSchema(this.#name)).catch((error: unknown) => {
      // No claim was sent, so that none needs a release.
      throw error instanceof NoAnswer ? new Error(error.message, { cause: error.cause }) : error
    })
    if (row === undefined) throw this.#missing()
    return makeStatements({ ...this.#name, schema: String(row[0]) }, this.#retentionMs)
  }

  /** Creates the table if it does not exist, and refuses one of a later version of this package. */
  async migrate(): Promise<void> {
    const { create } = makeStatements(this.#name, this.#retentionMs)
    const [row = []] = await this.#pool.use(async (client) => {
      try {
        return await runStatement(client, makeTable(this.#name, create), { limitMs: MIGRATE_LIMIT_MS })
      } catch (cause) {
        throw await this.#explainMigration(client, cause)
      }
    })
    const version = /^postern (\d+)$/.exec(String(row[0]))?.[1]
    if (version !== undefined && Number(version) !== TABLE_VERSION) throw unknownVersion(version)
  }

  /** Returns the owner's error for a failed statement. */
  explain(cause: unknown): unknown {
    const state = sqlStateOf(cause)
    if (state === UNDEFINED_TABLE) return this.#missing(cause)
    if (state !== INSUFFICIENT_PRIVILEGE) return cause
    return unavailable(`the pool's user may not use the table: GRANT ${RIGHTS} ON ${nameOf(this.#name)} TO it.`, cause)
  }

  #missing(cause?: unknown): PosternError {
    return unavailable(
      `the table ${this.#name.table} does not exist. Call await store.migrate() once when the app starts, or run the SQL that postgresSchema() returns.`,
      cause,
    )
  }

  async #explainMigration(client: PgClient, cause: unknown): Promise<PosternError> {
    const state = sqlStateOf(cause)
    if (state === LOCK_NOT_AVAILABLE) return unavailable(LOCKED, cause)
    if (state !== INSUFFICIENT_PRIVILEGE && state !== UNDEFINED_SCHEMA)
      return unavailable('migrate() could not create its table.', cause)
    const { schema } = this.#name
    if (state === UNDEFINED_SCHEMA && schema !== undefined)
      return unavailable(`the schema ${schema} does not exist: CREATE SCHEMA ${quoteName(schema)}.`, cause)
    const [[name] = []] = await runStatement(client, 'SELECT current_user::text').catch(() => [])
    const user = name === undefined ? 'the user of the pool' : quoteName(String(name))
    const given = schema === undefined ? '' : `{ schema: '${schema}' }`
    return unavailable(
      `${user} may not create ${nameOf(this.#name)}. Let a user who may do so run the SQL that postgresSchema(${given}) returns, and then GRANT ${RIGHTS} ON ${nameOf(this.#name)} TO ${user}.`,
      cause,
    )
  }
}

/** A message that returns the schema to which a name resolves. */
function findSchema(name: TableName): string {
  return `${DEFAULT_PATH};
SELECT n.nspname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass(${asText(nameOf(name))})`
}

/** Creates the table if there is none, and returns its comment. A process that falls silent leaves no lock. */
function makeTable(name: TableName, create: string): string {
  const regclass = `to_regclass(${asText(nameOf(name))})`
  const body = `BEGIN IF ${regclass} IS NULL THEN EXECUTE ${asText(create)}; END IF; END`
  return `${DEFAULT_PATH}; SET LOCAL lock_timeout = '${LOCKED_FOR_S}s';
SELECT pg_advisory_xact_lock(${LOCK});
DO ${asText(body)};
SELECT obj_description(${regclass}, 'pg_class')`
}

const LOCKED = `migrate() waited ${LOCKED_FOR_S} s for another session that creates a table and does not end. Call it again, or find that session: SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND (classid::bigint << 32 | objid::bigint) = ${LOCK} AND granted; then end it with pg_terminate_backend(pid).`

function unknownVersion(version: string): PosternError {
  return unavailable(
    `the table has version ${version}, but this version of the package supports ${TABLE_VERSION}. Update the package in every process.`,
  )
}

function unavailable(message: string, cause?: unknown): PosternError {
  return new PosternError('store_unavailable', `postgresStore: ${message}`, cause === undefined ? {} : { cause })
}
