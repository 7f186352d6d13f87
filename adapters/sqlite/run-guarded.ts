import { PosternError } from '../../src/index.ts'
import type { SqliteDatabase } from './database.ts'

/**
 * Runs a handler's work inside the open transaction, and throws where it did not leave that open: writes and finish mark would not
 * be committed together.
 */
export function runGuarded<T>(database: SqliteDatabase, work: () => T): T {
  database.exec('SAVEPOINT postern_work')
  const result = work()
  try {
    database.exec('RELEASE postern_work')
  } catch (cause) {
    throw new PosternError(
      'transaction_misused',
      'The work of context.transaction() ended the transaction itself. Leave COMMIT and ROLLBACK out: it is committed when work returns, and rolled back when work throws.',
      { cause },
    )
  }
  return result
}
