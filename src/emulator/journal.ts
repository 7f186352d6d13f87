import { ConfigurationError } from '../protocol/errors.ts'
import { Refusal } from './refusal.ts'

type SqliteValue = null | number | bigint | string | Uint8Array

/** An open SQLite database, as `openSqlite` of `postern/sqlite` gives it. The emulator takes the whole file for itself. */
export interface EmulatorDatabase {
  exec(sql: string): void
  prepare(sql: string): {
    run(...parameters: readonly SqliteValue[]): unknown
    all(...parameters: readonly SqliteValue[]): readonly Readonly<Record<string, SqliteValue>>[]
  }
  pragma(source: string): unknown
  transaction<T>(work: () => T): T
}

export type EntryKind = 'meta' | 'account' | 'webhook' | 'record' | 'delivery'

/** What outlives the process. Every call is done when it returns. */
export interface Journal {
  /** In the order in which they were saved first. */
  load<Value>(kind: EntryKind): readonly { readonly id: string; readonly value: Value }[]
  save(kind: EntryKind, id: string, value: unknown): void
  remove(kind: EntryKind, id: string): void
  loadBytes(id: string): Uint8Array | undefined
  saveBytes(id: string, bytes: Uint8Array): void
  removeBytes(id: string): void
  /** All that `work` saves, or nothing of it. */
  together<T>(work: () => T): T
  /** Everything of one kind; with deliveries, their bytes. */
  clear(kind: EntryKind): void
  /** Gives up the lock. */
  close(): void
}

/** Where nothing outlives the process. */
export const noJournal: Journal = {
  load: () => [],
  save: () => {},
  remove: () => {},
  loadBytes: () => undefined,
  saveBytes: () => {},
  removeBytes: () => {},
  together: (work) => work(),
  clear: () => {},
  close: () => {},
}

const VERSION = 1

/**
 * A journal in a database. The lock on the file is kept until `close`, or until the process ends, however it ends: no second one writes.
 *
 * @throws ConfigurationError `database_unusable` where another process has the file, or it is not the emulator's
 */
export function openJournal(database: EmulatorDatabase): Journal {
  lock(database)
  const prepare = (sql: string) => database.prepare(sql)
  const load = prepare('SELECT id, value FROM entries WHERE kind = ? ORDER BY place')
  const save = prepare(
    'INSERT INTO entries (kind, id, value) VALUES (?, ?, ?) ON CONFLICT (kind, id) DO UPDATE SET value = excluded.value',
  )
  const remove = prepare('DELETE FROM entries WHERE kind = ? AND id = ?')
  const clear = prepare('DELETE FROM entries WHERE kind = ?')
  const clearBytes = prepare('DELETE FROM bodies')
  const loadBytes = prepare('SELECT bytes FROM bodies WHERE id = ?')
  const saveBytes = prepare('INSERT OR REPLACE INTO bodies (id, bytes) VALUES (?, ?)')
  const removeBytes = prepare('DELETE FROM bodies WHERE id = ?')
  let isOpen = true
  const write = (statement: typeof save, ...values: readonly SqliteValue[]) => {
    if (!isOpen) throw new Refusal('full', 'the emulator has been closed')
    statement.run(...values)
  }
  return {
    load: (kind) => load.all(kind).map(({ id, value }) => ({ id: String(id), value: JSON.parse(String(value)) })),
    save: (kind, id, value) => write(save, kind, id, JSON.stringify(value)),
    remove: (kind, id) => write(remove, kind, id),
    loadBytes(id) {
      const bytes = loadBytes.all(id)[0]?.bytes
      return bytes instanceof Uint8Array ? new Uint8Array(bytes) : undefined
    },
    saveBytes: (id, bytes) => write(saveBytes, id, bytes),
    removeBytes: (id) => write(removeBytes, id),
    together: (work) => database.transaction(work),
    clear(kind) {
      write(clear, kind)
      if (kind === 'delivery') write(clearBytes)
    },
    close() {
      isOpen = false
      database.pragma('locking_mode = NORMAL')
      database.prepare('SELECT version FROM emulator').all() // the mode holds from the next access on
    },
  }
}

function lock(database: EmulatorDatabase): void {
  try {
    // A file that is first read in the exclusive mode could not leave it again before the connection ends.
    database.prepare('SELECT 1 FROM sqlite_master').all()
    database.pragma('locking_mode = EXCLUSIVE')
    database.exec(`
      CREATE TABLE IF NOT EXISTS emulator (version INTEGER NOT NULL);
      CREATE TABLE IF NOT EXISTS entries (
        place INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, value TEXT NOT NULL, UNIQUE (kind, id));
      CREATE TABLE IF NOT EXISTS bodies (id TEXT PRIMARY KEY, bytes BLOB NOT NULL);
    `)
    // A write takes the lock, and the mode above keeps it.
    database.prepare('INSERT INTO emulator SELECT ? WHERE NOT EXISTS (SELECT 1 FROM emulator)').run(VERSION)
    database.prepare('UPDATE emulator SET version = version').run()
  } catch (cause) {
    throw unusable(
      'another process has it open, or the file cannot be written. End that process, or give another file.',
      cause,
    )
  }
  const version = database.prepare('SELECT version FROM emulator').all()[0]?.version
  if (Number(version) !== VERSION)
    throw unusable(`it is of version ${version} and this emulator reads ${VERSION}. Give another file.`)
}

function unusable(what: string, cause?: unknown): ConfigurationError {
  return new ConfigurationError('database_unusable', `startEmulator cannot use the database: ${what}`, { cause })
}
