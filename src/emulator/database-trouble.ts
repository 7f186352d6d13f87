import { PosternError } from '../protocol/errors.ts'

interface Trouble {
  /** Primary result code of SQLite: better-sqlite3 and libsql report its name, node:sqlite its number. */
  readonly name: string
  readonly number: number
  readonly fix: string
}

const IN_USE = 'another process has it open. End that process, or give another file.'
const NOT_WRITABLE = 'it cannot be written. Let this process write to the file and its folder, or give another file.'
/** Text about a damaged file, with the fix. */
export const DAMAGED = 'it is damaged. Replace it with an intact copy, or give another file.'
const TROUBLES: readonly Trouble[] = [
  { name: 'SQLITE_BUSY', number: 5, fix: IN_USE },
  { name: 'SQLITE_LOCKED', number: 6, fix: IN_USE },
  { name: 'SQLITE_READONLY', number: 8, fix: NOT_WRITABLE },
  {
    name: 'SQLITE_IOERR',
    number: 10,
    fix: 'its disk failed to read or write it. Check the disk, or give another file.',
  },
  { name: 'SQLITE_CORRUPT', number: 11, fix: DAMAGED },
  { name: 'SQLITE_FULL', number: 13, fix: 'no room is left on its disk. Make room, or give a file on another disk.' },
  { name: 'SQLITE_CANTOPEN', number: 14, fix: NOT_WRITABLE },
  { name: 'SQLITE_NOTADB', number: 26, fix: 'it is not a SQLite database. Give another file.' },
]

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
  const known = TROUBLES.find((each) => each.number === number || `${name}_`.startsWith(`${each.name}_`))
  return known?.fix ?? `${String(message).split('\n')[0]}. Give another file.`
}
