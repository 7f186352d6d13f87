import { ConfigurationError } from '../protocol/errors.ts'

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
}

const VERSION = 1

/**
 * A journal in a database. The lock on the file is kept until the process ends, however it ends, so that no second one writes.
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
  const loadBytes = prepare('SELECT bytes FROM bodies WHERE id = ?')
  const saveBytes = prepare('INSERT OR REPLACE INTO bodies (id, bytes) VALUES (?, ?)')
  const removeBytes = prepare('DELETE FROM bodies WHERE id = ?')
  return {
    load: (kind) => load.all(kind).map(({ id, value }) => ({ id: String(id), value: JSON.parse(String(value)) })),
    save: (kind, id, value) => save.run(kind, id, JSON.stringify(value)),
    remove: (kind, id) => remove.run(kind, id),
    loadBytes(id) {
      const bytes = loadBytes.all(id)[0]?.bytes
      return bytes instanceof Uint8Array ? new Uint8Array(bytes) : undefined
    },
    saveBytes: (id, bytes) => saveBytes.run(id, bytes),
    removeBytes: (id) => removeBytes.run(id),
    together: (work) => database.transaction(work),
    clear(kind) {
      clear.run(kind)
      if (kind === 'delivery') database.exec('DELETE FROM bodies')
    },
  }
}

function lock(database: EmulatorDatabase): void {
  try {
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
