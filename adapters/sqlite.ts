export type {
  SqliteConnection,
  SqliteDatabase,
  SqliteDriver,
  SqliteRow,
  SqliteStatement,
  SqliteValue,
} from './sqlite/database.ts'
export { type OpenSqliteOptions, openSqlite } from './sqlite/open-sqlite.ts'
