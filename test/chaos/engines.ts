import { type HandlerContext, memoryStore, type Store, type SyncTransactionContext } from 'postern'
import { openSqlite, type SqliteDatabase, sqliteStore } from 'postern/sqlite'
import type { EngineAddress } from './messages.ts'

/** An engine's store in a worker. */
export interface OpenStore {
  readonly store: Store
  /** With transactions: writes a row of the user's own, together with the finish mark of the handler. */
  readonly writeEffect?: (eventId: string, context: HandlerContext) => Promise<void>
  close(): Promise<void> | void
}

export async function openStore({ name, at }: EngineAddress): Promise<OpenStore> {
  switch (name) {
    case 'memory':
      return { store: memoryStore(), close() {} }
    case 'sqlite':
    case 'sqlite-transaction': {
      const database = openSqlite(at)
      const opened = { store: sqliteStore({ database }), close: () => database.close() }
      return name === 'sqlite' ? opened : { ...opened, writeEffect: writeToSqlite }
    }
    default:
      throw new Error(`no engine ${name}`)
  }
}

async function writeToSqlite(eventId: string, context: HandlerContext): Promise<void> {
  const { transaction } = context as SyncTransactionContext<SqliteDatabase> // the receiver stands on a store of SQLite
  await transaction((tx) => {
    tx.prepare('INSERT INTO effects (event_id) VALUES (?)').run(eventId)
  })
}
