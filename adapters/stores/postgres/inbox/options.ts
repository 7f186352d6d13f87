import { OptionChecker } from '../../../../src/engine.ts'
import { checkName, checkPool } from '../options.ts'
import type { PgPool } from '../pool.ts'
import type { TableName } from '../statements.ts'
import { DEFAULT_TABLE, LONGEST_ENDING } from './tables.ts'

export const DAY_MS = 86_400_000

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
  check.isObject(options, '{ pool }')
  const { pool, deadLetterMs = 30 * DAY_MS, schema, table, ...unknown } = options
  check.isKnown(unknown, ['pool', 'deadLetterMs', 'schema', 'table'])
  checkPool(check, pool)
  check.isWhole('deadLetterMs', deadLetterMs, DAY_MS, 3_650 * DAY_MS, 'milliseconds')
  return { pool, deadLetterMs, ...checkInboxName({ schema, table }) }
}

export function checkInboxName({ schema, table = DEFAULT_TABLE }: TableName): Required<TableName> {
  return checkName(check, { schema, table }, LONGEST_ENDING)
}
