import { PosternError } from '../../../src/engine.ts'

/** Primary result codes by number, for those that the code depends on. */
const NAMES: Readonly<Record<number, string>> = {
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  26: 'SQLITE_NOTADB',
}

/** Returns SQLite's primary result code from an error of any driver: node:sqlite returns a number, the others a name. */
export function resultCodeOf(error: unknown): string | undefined {
  const { errcode, code } = Object(error) as { readonly errcode?: unknown; readonly code?: unknown } // anything can be thrown
  if (typeof errcode === 'number') return NAMES[errcode & 0xff]
  if (typeof code !== 'string') return undefined
  return Object.values(NAMES).find((name) => code === name || code.startsWith(`${name}_`))
}

/** Returns whether the file or the connection is in use right now: by another process, or by a transaction or an iteration of the app. */
export function isLocked(error: unknown): boolean {
  const code = resultCodeOf(error)
  if (code === 'SQLITE_BUSY' || code === 'SQLITE_LOCKED') return true
  return isWithinTransaction(error) || isBusyExecuting(error)
}

/** Returns whether an app iterates over rows on the same connection; better-sqlite3 refuses everything else until that has ended. */
export function isBusyExecuting(error: unknown): boolean {
  return String(error).includes('busy executing a query')
}

/** SQLite has no code for this. */
export function isWithinTransaction(error: unknown): boolean {
  return String(error).includes('cannot start a transaction within a transaction')
}

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

const GIVE_UP_AFTER_MS = 2_000
const PAUSE_MS = 10

/** Runs a step of the start, with the event loop blocked, again while another process has the file locked. */
export function untilUnlocked<T>(work: () => T, giveUpAfterMs = GIVE_UP_AFTER_MS): T {
  const started = performance.now()
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!isLocked(error) || performance.now() - started >= giveUpAfterMs) throw error
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS)
  }
}
