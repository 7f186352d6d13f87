import {
  ANY,
  DEFAULT_RETENTION_MS,
  FUNCTION,
  type Kind,
  OptionChecker,
  whole,
  withMethods,
} from '../../../src/engine.ts'
import { LONGEST_RETENTION_MS } from '../claims.ts'
import type { ClientOf, PgClient, PgPool } from './pool.ts'
import { DEFAULT_TABLE, type TableName } from './statements.ts'

/** Options of `postgresStore`. */
export interface PostgresStoreOptions<P, Tx> extends TableName {
  /** A `Pool` of `pg`, for transactions. The app may use it as well. The store opens up to two more connections with its options. */
  readonly pool: P
  /** The time for which events are remembered, in milliseconds. Default 7 days. */
  readonly retentionMs?: number | undefined
  /** Makes what `context.transaction` passes to a handler's work, such as a query builder. Default: the client. */
  readonly wrap?: ((client: ClientOf<P>) => Tx) | undefined
}

export interface CheckedOptions<Tx> extends Required<TableName> {
  readonly pool: PgPool
  readonly retentionMs: number
  readonly wrap: (client: PgClient) => Tx
}

/** Postgres truncates longer names, so that two could become one. */
const LONGEST_NAME = 63
/** Text without NUL and lone surrogates. */
const NAME = /^[^\0\p{Surrogate}]+$/u

const check = new OptionChecker('postgresStore')

export function checkOptions<Tx>(options: PostgresStoreOptions<PgPool, Tx>): CheckedOptions<Tx> {
  const retention = whole(1, LONGEST_RETENTION_MS, 'milliseconds')
  const kinds = { pool: POOL, retentionMs: retention, schema: ANY, table: ANY, wrap: FUNCTION }
  check.mustFit(options, kinds, ['pool'])
  const { pool, retentionMs = DEFAULT_RETENTION_MS, schema, table, wrap } = options
  return {
    pool,
    retentionMs,
    wrap: wrap ?? ((client) => client as Tx), // Tx is the client unless an option wraps it
    ...checkTableName(check, { schema, table }),
  }
}

export function checkTableName(check: OptionChecker, name: TableName): Required<TableName> {
  return checkName(check, name, DEFAULT_TABLE, '_swept')
}

export const POOL: Kind = (value) =>
  // A single client has these methods, too.
  withMethods('connect', 'on')(value) === undefined && !('connectionParameters' in Object(value))
    ? undefined
    : 'a Pool of pg: new Pool({ connectionString: process.env.DATABASE_URL })'

/** @param ending that of the longest name which begins with the table's */
export function checkName(
  check: OptionChecker,
  given: TableName,
  defaultTable: string,
  ending: string,
): Required<TableName> {
  check.mustFit(given, { schema: ANY, table: ANY })
  const { schema, table = defaultTable } = given
  const name = { schema, table }
  const most = LONGEST_NAME - ending.length
  for (const [option, text] of Object.entries(name))
    if (text !== undefined && (typeof text !== 'string' || !NAME.test(text) || Buffer.byteLength(text) > most))
      throw check.invalid(`${option} is not a name that Postgres can hold: text of 1 to ${most} bytes without NUL.`)
  if (table.includes('.')) throw check.invalid('table has a dot; give the part before it as schema.')
  return name
}
