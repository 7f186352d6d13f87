import { PosternError } from '../../src/index.ts'
import { quoteName } from './encode.ts'
import { type PgClient, runStatement, sqlStateOf } from './pool.ts'
import type { SharedPool } from './shared-pool.ts'
import { makeStatements, nameOf, type Statements, TABLE_VERSION, type TableName } from './statements.ts'

/** Of the lock under which tables are made: two processes that did it at once would fail. It ends with the transaction. */
const LOCK = 7_066_398_211
const UNDEFINED_TABLE = '42P01'
const UNDEFINED_SCHEMA = '3F000'
const INSUFFICIENT_PRIVILEGE = '42501'
/** The search path that the connection began with: what an app set on it later would lead to another table. */
const BEGIN = 'BEGIN; SET LOCAL search_path TO DEFAULT'
const RIGHTS = 'SELECT, INSERT, UPDATE, DELETE'

/** The table of a store: how it is made and found, and the statements for it. */
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
    const [row] = await this.#pool.useKept(async (client) => {
      await client.query({ text: BEGIN })
      const rows = await runStatement(client, SCHEMA_OF, [nameOf(this.#name)])
      await client.query({ text: 'ROLLBACK' })
      return rows
    })
    if (row === undefined) throw this.#missing()
    return makeStatements({ ...this.#name, schema: String(row[0]) }, this.#retentionMs)
  }

  /** Makes the table if it is not there, and refuses one of a later version of this package. */
  async migrate(): Promise<void> {
    const comment = await this.#pool.use(async (client) => {
      try {
        return await this.#make(client)
      } catch (cause) {
        throw await this.#explainMigration(client, cause)
      }
    })
    const version = /^postern (\d+)$/.exec(String(comment))?.[1]
    if (version !== undefined && Number(version) !== TABLE_VERSION) throw unknownVersion(version)
  }

  /** Returns the comment of a table that was there before. */
  async #make(client: PgClient): Promise<unknown> {
    const { create, find } = makeStatements(this.#name, this.#retentionMs)
    await client.query({ text: `${BEGIN}; SELECT pg_advisory_xact_lock(${LOCK})` })
    const [row = []] = await runStatement(client, find, [])
    const [isThere, comment] = row
    if (isThere !== 'true') await client.query({ text: create })
    await client.query({ text: 'COMMIT' })
    return comment
  }

  /** Returns what the owner is told of a failed statement. */
  explain(cause: unknown): unknown {
    const state = sqlStateOf(cause)
    if (state === UNDEFINED_TABLE) return this.#missing(cause)
    if (state !== INSUFFICIENT_PRIVILEGE) return cause
    return unavailable(`the pool's user may not use the table: GRANT ${RIGHTS} ON ${nameOf(this.#name)} TO it.`, cause)
  }

  #missing(cause?: unknown): PosternError {
    return unavailable(
      `the table ${this.#name.table} is not there. Call await store.migrate() once when the app starts, or run the SQL that postgresSchema() gives.`,
      cause,
    )
  }

  async #explainMigration(client: PgClient, cause: unknown): Promise<PosternError> {
    const state = sqlStateOf(cause)
    if (state !== INSUFFICIENT_PRIVILEGE && state !== UNDEFINED_SCHEMA)
      return unavailable('migrate() could not make its table.', cause)
    const { schema } = this.#name
    if (state === UNDEFINED_SCHEMA && schema !== undefined)
      return unavailable(`the schema ${schema} is not there: CREATE SCHEMA ${quoteName(schema)}.`, cause)
    const user = quoteName(await findUser(client))
    const given = schema === undefined ? '' : `{ schema: '${schema}' }`
    return unavailable(
      `${user} may not create ${nameOf(this.#name)}. Have a user who may run the SQL that postgresSchema(${given}) gives, and then GRANT ${RIGHTS} ON ${nameOf(this.#name)} TO ${user}.`,
      cause,
    )
  }
}

/** The schema of what a name leads to. */
const SCHEMA_OF = `SELECT n.nspname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)`

async function findUser(client: PgClient): Promise<string> {
  try {
    await client.query({ text: 'ROLLBACK' })
    const [row = []] = await runStatement(client, 'SELECT current_user::text', [])
    return String(row[0])
  } catch {
    return 'the user of the pool'
  }
}

function unknownVersion(version: string): PosternError {
  return unavailable(
    `the table is of version ${version}, and this version of the package knows ${TABLE_VERSION}. Update the package in every process.`,
  )
}

function unavailable(message: string, cause?: unknown): PosternError {
  return new PosternError('store_unavailable', `postgresStore: ${message}`, cause === undefined ? {} : { cause })
}
