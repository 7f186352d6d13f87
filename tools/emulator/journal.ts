import { findFix } from '../../adapters/stores/sqlite/faults.ts'
import { PosternError } from '../../src/protocol/errors.ts'
import { isBytes } from '../../src/protocol/is-bytes.ts'
import { Refusal } from './refusal.ts'

type SqliteValue = null | number | bigint | string | Uint8Array

/** Open SQLite database from `openSqlite` of `postern/sqlite`. The emulator uses the whole file exclusively. */
export interface EmulatorDatabase {
  exec(sql: string): void
  prepare(sql: string): {
    run(...parameters: readonly SqliteValue[]): unknown
    all(...parameters: readonly SqliteValue[]): readonly Readonly<Record<string, SqliteValue>>[]
  }
  pragma(source: string): unknown
  transaction<T>(work: () => T): T
}

export type EntryKind = 'meta' | 'account' | 'webhook' | 'deleted-webhook' | 'record' | 'delivery'

const VERSION = 1

/** Databases with an open journal. SQLite's lock keeps out only other connections. */
const inUse = new WeakSet<EmulatorDatabase>()

/**
 * Opens the journal in a database, and holds the lock on the file until `close`, or until the process ends in any way. Without a database,
 * nothing is kept.
 *
 * @throws PosternError `database_unusable` if another process or another emulator uses the file, if it belongs to another program, if
 *   it is damaged, and at each later call that cannot read or write it
 */
export function openJournal(database?: EmulatorDatabase): Journal {
  if (database === undefined) return createJournal()
  const file = fileOf(database)
  if (inUse.has(database))
    throw unusable(
      file,
      'another emulator of this process has it open. Close that emulator first, or give another file.',
    )
  try {
    const journal = explainTrouble(file, () => {
      lockIfOwn(database, file)
      // A write takes the lock. A file that is not a journal stays unchanged.
      return database.transaction(() => {
        makeTables(database, file)
        database.prepare('SELECT place, kind, value, bytes FROM entries, bodies') // fails if the tables are those of another program
        return createJournal(database, file)
      })
    })
    inUse.add(database)
    return journal
  } catch (error) {
    unlock(database)
    throw error
  }
}

/** State that survives the process. Every call has been written when it returns. */
export type Journal = ReturnType<typeof createJournal>

function createJournal(database?: EmulatorDatabase, file = '') {
  const explain = <T>(work: () => T): T => explainTrouble(file, work)
  const statements = new Map<string, ReturnType<EmulatorDatabase['prepare']>>()
  const prepare = (sql: string) => {
    const statement = statements.get(sql) ?? database?.prepare(sql)
    if (statement !== undefined) statements.set(sql, statement)
    return statement
  }
  const read = (sql: string, value: string) => explain(() => prepare(sql)?.all(value) ?? [])
  let isOpen = true
  const mustBeOpen = () => {
    if (!isOpen) throw new Refusal('full', 'the emulator has been closed')
  }
  const write = (sql: string, ...values: readonly SqliteValue[]) => {
    mustBeOpen()
    explain(() => prepare(sql)?.run(...values))
  }
  /** Loads entries in the order in which they were first saved. */
  const load = <Value>(kind: EntryKind): readonly { readonly id: string; readonly value: Value }[] => {
    const rows = read('SELECT id, value FROM entries WHERE kind = ? ORDER BY place', kind)
    return rows.map(({ id, value }) => ({ id: String(id), value: JSON.parse(String(value)) }))
  }
  return {
    load,
    /** Loads a single value, such as the time of the clock. */
    loadMeta: <Value>(name: string): Value | undefined => load<Value>('meta').find(({ id }) => id === name)?.value,
    save(kind: EntryKind, id: string, value: unknown): void {
      const change = 'ON CONFLICT (kind, id) DO UPDATE SET value = excluded.value'
      const json = database === undefined ? '' : JSON.stringify(value)
      write(`INSERT INTO entries (kind, id, value) VALUES (?, ?, ?) ${change}`, kind, id, json)
    },
    remove: (kind: EntryKind, id: string) => write('DELETE FROM entries WHERE kind = ? AND id = ?', kind, id),
    loadBytes(id: string): Uint8Array | undefined {
      const bytes = read('SELECT bytes FROM bodies WHERE id = ?', id)[0]?.bytes
      return isBytes(bytes) ? new Uint8Array(bytes) : undefined
    },
    saveBytes: (id: string, bytes: Uint8Array) =>
      write('INSERT OR REPLACE INTO bodies (id, bytes) VALUES (?, ?)', id, bytes),
    removeBytes: (id: string) => write('DELETE FROM bodies WHERE id = ?', id),
    /** Saves everything that `work` saves, or nothing. */
    together<T>(work: () => T): T {
      mustBeOpen()
      return database === undefined ? work() : explain(() => database.transaction(work))
    },
    /** Deletes all entries of one kind; for deliveries, their bytes too. */
    clear(kind: EntryKind): void {
      write('DELETE FROM entries WHERE kind = ?', kind)
      if (kind === 'delivery') write('DELETE FROM bodies')
    },
    toDamage: (cause: unknown) =>
      database === undefined || cause instanceof PosternError ? cause : unusable(file, DAMAGED, cause),
    close(): void {
      isOpen = false
      if (database !== undefined) unlock(database)
    },
  }
}

function fileOf(database: EmulatorDatabase): string {
  const rows = database.pragma('database_list')
  return String((Array.isArray(rows) && rows[0]?.file) || 'in memory')
}

/** Locks the file from the next write on, until {@link unlock}. */
function lockIfOwn(database: EmulatorDatabase, file: string): void {
  // A connection that first reads a file in exclusive mode cannot leave that mode before it closes.
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()
  if (tables.length > 0 && !tables.some(({ name }) => name === 'emulator'))
    throw unusable(file, 'it belongs to another program. Give another file.')
  database.pragma('locking_mode = EXCLUSIVE')
}

function makeTables(database: EmulatorDatabase, file: string): void {
  database.exec(`
    CREATE TABLE IF NOT EXISTS emulator (version INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS entries (
      place INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, value TEXT NOT NULL, UNIQUE (kind, id));
    CREATE TABLE IF NOT EXISTS bodies (id TEXT PRIMARY KEY, bytes BLOB NOT NULL);
  `)
  database.prepare('INSERT INTO emulator SELECT ? WHERE NOT EXISTS (SELECT 1 FROM emulator)').run(VERSION)
  database.prepare('UPDATE emulator SET version = version').run()
  const version = database.prepare('SELECT version FROM emulator').all()[0]?.version
  if (Number(version) !== VERSION)
    throw unusable(file, `it has version ${version}, but this emulator reads version ${VERSION}. Give another file.`)
}

/** Unlocks the file. Does nothing for a file that cannot be read: its lock ends with the connection. */
function unlock(database: EmulatorDatabase): void {
  inUse.delete(database)
  try {
    database.pragma('locking_mode = NORMAL')
    database.prepare('SELECT name FROM sqlite_master').all() // the mode takes effect at the next access
  } catch {
    // The caller reports the first error, or closes the database.
  }
}

const DAMAGED = 'it is damaged. Replace it with an intact copy, or give another file.'

/** Runs work on a database. Adds the file and a fix to each error of the driver. */
function explainTrouble<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    const { code, errcode, message } = Object(cause) as Readonly<Record<string, unknown>> // the thrown value can be anything
    if (typeof errcode !== 'number' && !String(code).startsWith('SQLITE_')) throw cause
    throw unusable(file, findFix(cause) ?? `${String(message).split('\n')[0]}. Give another file.`, cause)
  }
}

function unusable(file: string, what: string, cause?: unknown): PosternError {
  return new PosternError('database_unusable', `The emulator cannot use the database ${file}: ${what}`, { cause })
}
