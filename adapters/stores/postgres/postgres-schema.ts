import { checkTableName } from './options.ts'
import { makeStatements, type TableName } from './statements.ts'

/**
 * The SQL that `store.migrate()` runs, for those who migrate by other means. It may be run again.
 *
 * @throws ConfigurationError `option_invalid`
 */
export function postgresSchema(table: TableName = {}): string {
  return makeStatements(checkTableName(table), 1).create
}
