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
  return error instanceof Error && error.message.includes('busy executing a query')
}

/** SQLite has no code for this. */
export function isWithinTransaction(error: unknown): boolean {
  return error instanceof Error && error.message.includes('cannot start a transaction within a transaction')
}
