import { ANY, OptionChecker } from '../../../../src/engine.ts'
import { DEAD_LETTER, DEFAULT_DEAD_LETTER_MS } from '../../dead-letters.ts'
import { checkName, POOL } from '../options.ts'
import type { PgPool } from '../pool.ts'
import type { TableName } from '../statements.ts'
import { DEFAULT_TABLE, LONGEST_ENDING } from './tables.ts'

/** Options of `postgresInbox`. */
export interface PostgresInboxOptions extends TableName {
  /** A `Pool` of `pg`. Best use the store's; the app may use it as well. */
  readonly pool: PgPool
  /** Name of the inbox's table, with which the names of its other tables begin. Default `postern_inbox`. */
  readonly table?: string | undefined
  /** The time for which dead letters are kept, in milliseconds. Default 30 days. */
  readonly deadLetterMs?: number | undefined
}

const check = new OptionChecker('postgresInbox')

export function checkInboxOptions(options: PostgresInboxOptions) {
  check.mustFit(options, { pool: POOL, deadLetterMs: DEAD_LETTER, schema: ANY, table: ANY }, ['pool'])
  const { pool, deadLetterMs = DEFAULT_DEAD_LETTER_MS, schema, table } = options
  return { pool, deadLetterMs, ...checkInboxName(check, { schema, table }) }
}

export function checkInboxName(check: OptionChecker, name: TableName): Required<TableName> {
  return checkName(check, name, DEFAULT_TABLE, LONGEST_ENDING)
}
