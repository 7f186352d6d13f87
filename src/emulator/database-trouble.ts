import { PosternError } from '../protocol/errors.ts'

const IN_USE = 'another process has it open. End that process, or give another file.'
const NOT_WRITABLE = 'it cannot be written. Let this process write to the file and its folder, or give another file.'
/** Text about a damaged file, with the fix. */
export const DAMAGED = 'it is damaged. Replace it with an intact copy, or give another file.'
/** Fixes by primary result code of SQLite: better-sqlite3 and libsql report its name, node:sqlite its number. */
const FIXES = [
  ['SQLITE_BUSY', 5, IN_USE],
  ['SQLITE_LOCKED', 6, IN_USE],
  ['SQLITE_READONLY', 8, NOT_WRITABLE],
  ['SQLITE_IOERR', 10, 'its disk failed to read or write it. Check the disk, or give another file.'],
  ['SQLITE_CORRUPT', 11, DAMAGED],
  ['SQLITE_FULL', 13, 'no room is left on its disk. Make room, or give a file on another disk.'],
  ['SQLITE_CANTOPEN', 14, NOT_WRITABLE],
  ['SQLITE_NOTADB', 26, 'it is not a SQLite database. Give another file.'],
] as const

/** Runs work on a database. Adds the file and a fix to each error of the driver. */
export function explainTrouble<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    const fix = findFix(cause)
    throw fix === undefined ? cause : unusable(file, fix, cause)
  }
}

/** Makes the error for a database that the emulator cannot use. */
export function unusable(file: string, what: string, cause?: unknown): PosternError {
  return new PosternError('database_unusable', `The emulator cannot use the database ${file}: ${what}`, { cause })
}

/** Returns the fix for an error of the driver; undefined for other errors. */
function findFix(error: unknown): string | undefined {
  const { code, errcode, message } = Object(error) as Readonly<Record<string, unknown>> // the thrown value can be anything
  const name = typeof code === 'string' && code.startsWith('SQLITE_') ? code : undefined
  const number = typeof errcode === 'number' ? errcode & 0xff : undefined
  if (name === undefined && number === undefined) return undefined
  const [, , fix] = FIXES.find((each) => each[1] === number || `${name}_`.startsWith(`${each[0]}_`)) ?? []
  return fix ?? `${String(message).split('\n')[0]}. Give another file.`
}
