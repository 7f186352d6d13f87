import { ConfigurationError } from '../../../src/index.ts'
import { findFix } from './explain.ts'
import { untilUnlocked } from './until-unlocked.ts'

/**
 * Creates a table, or finds it, while other processes may do the same.
 *
 * @param owner the function whose table it is, for messages
 * @throws ConfigurationError `database_unusable`
 */
export function prepareTable<T>(owner: string, name: string, prepare: () => T): T {
  try {
    return untilUnlocked(prepare)
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause
    const fix =
      findFix(cause) ??
      `the table ${name} could not be created or read. If another part of the app uses a table of that name, give another name as table.`
    throw new ConfigurationError('database_unusable', `${owner} cannot use the database: ${fix}`, { cause })
  }
}
