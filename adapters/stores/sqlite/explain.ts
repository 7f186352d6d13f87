import { PosternError } from '../../../src/index.ts'
import { isBusyExecuting, isWithinTransaction, resultCodeOf } from './result-code.ts'

export const CANNOT_OPEN = 'its folder must exist, and the process must be allowed to write to it.'

/** Faults of a file, each with the fix. */
const FIXES: Readonly<Record<string, string>> = {
  SQLITE_BUSY: 'another process has it locked. End that process, or let it finish.',
  SQLITE_READONLY:
    'it is read-only. Open it for writing, and give the process the right to write to the file and its folder.',
  SQLITE_IOERR: 'its disk failed to read or write. Check the disk and the system log.',
  SQLITE_CORRUPT:
    'the file is damaged. Stop the app, replace the file with an intact copy (`.recover` of the program sqlite3 saves what can be read), and start it again.',
  SQLITE_FULL: 'no room is left, on its disk or below max_page_count. Make room.',
  SQLITE_CANTOPEN: CANNOT_OPEN,
  SQLITE_NOTADB: 'the file is not a SQLite database. Give another path.',
}

/** Returns the fault of the database behind a driver's error, if the owner can repair it. */
export function findFix(error: unknown): string | undefined {
  if (isWithinTransaction(error) || isBusyExecuting(error))
    return 'the app has a transaction or an iteration open on the same connection. End it before you await anything.'
  return FIXES[resultCodeOf(error) ?? '']
}

/** Returns the owner's error for a failed call of the store or the inbox. */
export function explain(cause: unknown): unknown {
  const fix = findFix(cause)
  if (fix === undefined) return cause
  return new PosternError('store_unavailable', `The SQLite database cannot be used: ${fix}`, { cause })
}
