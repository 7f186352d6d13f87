import { checkTableName } from './options.ts'
import { makeStatements, type TableName } from './statements.ts'

/**
 * Returns the SQL that `store.migrate()` runs, for apps that migrate by other means. It can be run again.
 *
 * @throws ConfigurationError `option_invalid`
 */
export function postgresSchema(table: TableName = {}): string {
  return makeStatements(checkTableName(table), 1).create
}
