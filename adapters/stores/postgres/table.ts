import { type Logger, PosternError, STORE_LIMIT_MS } from '../../../src/engine.ts'
import { asText, quoteName } from './encode.ts'
import { INSUFFICIENT_PRIVILEGE, NoAnswer, type PgClient, runStatement, sqlStateOf } from './pool.ts'
import type { SharedPool } from './shared-pool.ts'
import { nameOf, type TableName } from './statements.ts'

/** The lock for creating tables: two processes that create them concurrently would fail. It ends with the transaction. */
const LOCK = 7_066_398_211
const UNDEFINED_TABLE = '42P01'
const UNDEFINED_COLUMN = '42703'
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
export class Table<S extends { readonly create: string; readonly missing: string }> {
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

  /** Logs what is missing once the app has started: a table, before the first delivery is answered 503, or an index. */
  lookLater(logger: Logger): void {
    const look = async () => {
      const { missing } = await this.statements()
      const [[names = null] = []] = await this.#pool.runOwn(missing)
      if (names !== null) throw this.#missing(`of its tables, ${names} is missing`)
    }
    const tell = (error: unknown) => {
      // Without a server, as in a build, nothing is known.
      if (error instanceof PosternError) logger.error({ code: error.code }, error.message)
    }
    setTimeout(() => void look().catch(tell), STARTED_AFTER_MS).unref()
  }

  async #find(): Promise<S> {
    if (this.#name.schema !== undefined) return this.#kind.makeStatements(this.#name)
    const [row] = await this.#pool.runOwn(findSchema(this.#name)).catch((error: unknown) => {
      // No claim was sent, so that none needs a release.
      throw error instanceof NoAnswer ? new Error(error.message, { cause: error.cause }) : error
    })
    if (row === undefined) throw this.#missing(`the table ${this.#name.table} does not exist`)
    return this.#kind.makeStatements({ ...this.#name, schema: String(row[0]) })
  }

  /** Creates what does not exist, and refuses a table of a later version of this package. */
  async migrate(): Promise<void> {
    const migrating = this.#pool.use(async (client) => {
      try {
        // Its parts are beside it, even if another schema comes first by now.
        const [[schema = this.#name.schema] = []] = await runStatement(client, findSchema(this.#name))
        const name = { ...this.#name, schema: schema as string | undefined } // nspname is text
        return await runStatement(client, makeMigration(name, this.#kind), { limitMs: MIGRATE_LIMIT_MS })
      } catch (cause) {
        throw await this.#explainMigration(client, cause)
      }
    })
    const [row = []] = await migrating.catch((cause: unknown) => {
      if (cause instanceof PosternError) throw cause
      const { message, code } = Object(cause) // of several addresses that fail, there is no message
      throw this.#unavailable(`migrate() could not reach the database: ${message || code}.`, cause)
    })
    const found = /^postern .*/.exec(String(row[0]))?.[0]
    if (found !== undefined && found !== this.#kind.comment)
      throw this.#unavailable(
        `the table is of version "${found}", but this version of the package supports "${this.#kind.comment}". Update the package in every process.`,
      )
  }

  explain(cause: unknown): unknown {
    const state = sqlStateOf(cause)
    if (state === UNDEFINED_TABLE) return this.#missing(`in the database, ${Object(cause).message}`, cause)
    if (state === UNDEFINED_COLUMN)
      return this.#missing(`the table ${this.#name.table} is of an earlier version`, cause)
    if (state !== INSUFFICIENT_PRIVILEGE) return cause
    return this.#unavailable(`the pool's user may not use the table: ${this.#grantTo('it')}.`, cause)
  }

  #missing(what: string, cause?: unknown): PosternError {
    const { noun } = this.#kind
    const also = noun === 'inbox' ? ' or npx postern inbox migrate --postgres URL,' : ''
    return this.#unavailable(
      `${what}. Call await ${noun}.migrate() once when the app starts,${also} or run the SQL that ${SCHEMA_OF[noun]}() returns.`,
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

/**
 * Creates what is missing, unless the table is of another version, and returns the comment of the table. Looks first, since creating takes
 * rights and locks. A process that falls silent leaves no lock.
 */
function makeMigration<S extends { readonly create: string; readonly missing: string }>(
  name: Required<TableName>,
  { comment, makeStatements, repair }: TableKind<S>,
): string {
  const statements = makeStatements(name)
  const found = `obj_description(to_regclass(${asText(nameOf(name))}), 'pg_class')`
  const otherwise = repair === undefined ? '' : `ELSE EXECUTE ${asText(repair(statements))};`
  const body = `BEGIN IF coalesce(${found}, ${asText(comment)}) <> ${asText(comment)} THEN RETURN; END IF;
IF (${statements.missing}) IS NOT NULL THEN EXECUTE ${asText(statements.create)}; ${otherwise} END IF; END`
  return `${DEFAULT_PATH}; SET LOCAL lock_timeout = '${LOCKED_FOR_S}s';
SELECT pg_advisory_xact_lock(${LOCK});
DO ${asText(body)};
SELECT ${found}`
}

const LOCKED = `migrate() waited ${LOCKED_FOR_S} s for another session, which creates a table or has one locked. Call it again, or find that session: SELECT pid, query FROM pg_stat_activity WHERE xact_start < now() - interval '${LOCKED_FOR_S} s'; then end it with pg_terminate_backend(pid).`
