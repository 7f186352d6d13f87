export type {
  SqliteConnection,
  SqliteDatabase,
  SqliteDriver,
  SqliteRow,
  SqliteStatement,
  SqliteValue,
} from './sqlite/database.ts'
export { type OpenSqliteOptions, openSqlite } from './sqlite/open-sqlite.ts'
export { type SqliteInboxOptions, sqliteInbox } from './sqlite/sqlite-inbox.ts'
export { type SqliteStoreOptions, sqliteStore } from './sqlite/sqlite-store.ts'
