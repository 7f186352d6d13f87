import { PosternError, systemClock } from '../../../src/engine.ts'

export const CANNOT_OPEN = 'its folder must exist, and the process must be allowed to write to it.'

interface Fault {
  readonly number: number
  readonly fix?: string
}

/** SQLite's primary result codes that the code depends on, each with the fix if it is a fault of a file. */
const FAULTS: Readonly<Record<string, Fault>> = {
  SQLITE_BUSY: { number: 5, fix: 'another process has it locked. End that process, or let it finish.' },
  SQLITE_LOCKED: { number: 6 },
  SQLITE_READONLY: {
    number: 8,
    fix: 'it is read-only. Open it for writing, and give the process the right to write to the file and its folder.',
  },
  SQLITE_IOERR: { number: 10, fix: 'its disk failed to read or write. Check the disk and the system log.' },
  SQLITE_CORRUPT: {
    number: 11,
    fix: 'the file is damaged. Stop the app, replace the file with an intact copy (`.recover` of the program sqlite3 saves what can be read), and start it again.',
  },
  SQLITE_FULL: { number: 13, fix: 'no room is left, on its disk or below max_page_count. Make room.' },
  SQLITE_CANTOPEN: { number: 14, fix: CANNOT_OPEN },
  SQLITE_NOTADB: { number: 26, fix: 'the file is not a SQLite database. Give another path.' },
}

/** Returns SQLite's primary result code from an error of any driver: node:sqlite returns a number, the others a name. */
export function resultCodeOf(error: unknown): string | undefined {
  const { errcode, code } = Object(error) as { readonly errcode?: unknown; readonly code?: unknown } // anything can be thrown
  const known = Object.entries(FAULTS)
  const [name] =
    known.find(
      ([name, { number }]) => number === (Number(errcode) & 0xff) || `${String(code)}_`.startsWith(`${name}_`),
    ) ?? []
  return name
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

/** Returns the fault of the database behind a driver's error, if the owner can repair it. */
export function findFix(error: unknown): string | undefined {
  if (isWithinTransaction(error) || isBusyExecuting(error))
    return 'the app has a transaction or an iteration open on the same connection. End it before you await anything.'
  if (/(connection|database) is not open/.test(String(error)))
    return 'its connection is closed. Open it before the store or the inbox is created, and close it after receiver.close().'
  const [missing] = /no such table: [\w.]+/.exec(String(error)) ?? []
  if (missing !== undefined)
    return `${missing}, which another program renamed or dropped. Restart the app, which creates it.`
  return FAULTS[resultCodeOf(error) ?? '']?.fix
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
  const started = systemClock.monotonic()
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!isLocked(error) || systemClock.monotonic() - started >= giveUpAfterMs) throw error
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS)
  }
}
