import { PosternError } from '../protocol/errors.ts'
import { DAMAGED, explainTrouble, unusable } from './database-trouble.ts'
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

/** State that survives the process. Every call has been written when it returns. */
export interface Journal {
  /** Loads entries in the order in which they were first saved. */
  load<Value>(kind: EntryKind): readonly { readonly id: string; readonly value: Value }[]
  save(kind: EntryKind, id: string, value: unknown): void
  remove(kind: EntryKind, id: string): void
  loadBytes(id: string): Uint8Array | undefined
  saveBytes(id: string, bytes: Uint8Array): void
  removeBytes(id: string): void
  /** Saves everything that `work` saves, or nothing. */
  together<T>(work: () => T): T
  /** Deletes all entries of one kind; for deliveries, their bytes too. */
  clear(kind: EntryKind): void
  /** Makes the error for entries that could not be parsed. */
  toDamage(cause: unknown): unknown
  /** Releases the lock. */
  close(): void
}

/** Creates a journal that keeps nothing, and refuses calls after it is closed. */
export function createMemoryJournal(): Journal {
  let isOpen = true
  const write = () => mustBeOpen(isOpen)
  return {
    load: () => [],
    save: write,
    remove: write,
    loadBytes: () => undefined,
    saveBytes: write,
    removeBytes: write,
    together(work) {
      write()
      return work()
    },
    clear: write,
    toDamage: (cause) => cause,
    close() {
      isOpen = false
    },
  }
}

function mustBeOpen(isOpen: boolean): void {
  if (!isOpen) throw new Refusal('full', 'the emulator has been closed')
}

const VERSION = 1

/** Databases with an open journal. SQLite's lock keeps out only other connections. */
const inUse = new WeakSet<EmulatorDatabase>()

/**
 * Opens the journal in a database. Holds the lock on the file until `close`, or until the process ends in any way.
 *
 * @throws PosternError `database_unusable` if another process or another emulator uses the file, if it belongs to another program, if
 *   it is damaged, and at each later call that cannot read or write it
 */
export function openJournal(database: EmulatorDatabase): Journal {
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

function createJournal(database: EmulatorDatabase, file: string): Journal {
  const explain = <T>(work: () => T): T => explainTrouble(file, work)
  const load = database.prepare('SELECT id, value FROM entries WHERE kind = ? ORDER BY place')
  const save = database.prepare(
    'INSERT INTO entries (kind, id, value) VALUES (?, ?, ?) ON CONFLICT (kind, id) DO UPDATE SET value = excluded.value',
  )
  const remove = database.prepare('DELETE FROM entries WHERE kind = ? AND id = ?')
  const clear = database.prepare('DELETE FROM entries WHERE kind = ?')
  const clearBytes = database.prepare('DELETE FROM bodies')
  const loadBytes = database.prepare('SELECT bytes FROM bodies WHERE id = ?')
  const saveBytes = database.prepare('INSERT OR REPLACE INTO bodies (id, bytes) VALUES (?, ?)')
  const removeBytes = database.prepare('DELETE FROM bodies WHERE id = ?')
  let isOpen = true
  const write = (statement: typeof save, ...values: readonly SqliteValue[]) => {
    mustBeOpen(isOpen)
    explain(() => statement.run(...values))
  }
  return {
    load: (kind) =>
      explain(() => load.all(kind)).map(({ id, value }) => ({ id: String(id), value: JSON.parse(String(value)) })),
    save: (kind, id, value) => write(save, kind, id, JSON.stringify(value)),
    remove: (kind, id) => write(remove, kind, id),
    loadBytes(id) {
      const bytes = explain(() => loadBytes.all(id))[0]?.bytes
      return bytes instanceof Uint8Array ? new Uint8Array(bytes) : undefined
    },
    saveBytes: (id, bytes) => write(saveBytes, id, bytes),
    removeBytes: (id) => write(removeBytes, id),
    together: (work) => explain(() => database.transaction(work)),
    clear(kind) {
      write(clear, kind)
      if (kind === 'delivery') write(clearBytes)
    },
    toDamage: (cause) => (cause instanceof PosternError ? cause : unusable(file, DAMAGED, cause)),
    close() {
      isOpen = false
      inUse.delete(database)
      unlock(database)
    },
  }
}

/** Returns the path of the file for messages. */
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
  try {
    database.pragma('locking_mode = NORMAL')
    database.prepare('SELECT name FROM sqlite_master').all() // the mode takes effect at the next access
  } catch {
    // The caller reports the first error, or closes the database.
  }
}
