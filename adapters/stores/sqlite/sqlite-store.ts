import { AsyncLocalStorage } from 'node:async_hooks'
import {
  ANY,
  type Clock,
  DEFAULT_RETENTION_MS,
  OptionChecker,
  type SyncTransactionalStore,
  systemClock,
  whole,
  withMethods,
} from '../../../src/engine.ts'
import { LONGEST_RETENTION_MS, makeTokens } from '../claims.ts'
import type { SqliteConnection, SqliteDatabase } from './database.ts'
import { EventsTable } from './events-table.ts'
import { openTable, tableName } from './open-table.ts'
import { Writer } from './writer.ts'

/** Options of `sqliteStore`. */
export interface SqliteStoreOptions<D extends SqliteDatabase | SqliteConnection = SqliteDatabase> {
  /** A database of `openSqlite`, or a connection of a driver: a `DatabaseSync` of node:sqlite, for example. */
  readonly database: D
  /** The time for which done ids and finish marks are kept, in milliseconds. Default 7 days. */
  readonly retentionMs?: number | undefined
  /** Name of the store's table, which the store creates. Default `postern_events`. */
  readonly table?: string | undefined
  /** Default: the machine's wall clock, which all processes on the file must share. */
  readonly clock?: Pick<Clock, 'now'> | undefined
}

const LONGEST_NAME = 63

/**
 * A store in a SQLite file: durable, for one machine with any number of processes. Steps that wait at the same time are committed together,
 * so that a busy process pays for far fewer disk writes than one for each claim.
 *
 * `context.transaction((tx) => …)` passes the `database` to the handler as `tx`: what the handler writes there, without awaiting anything,
 * is committed together with its finish mark.
 *
 * @throws ConfigurationError `database_unusable` for a database in memory, read-only, locked, on a network file system, or whose
 * table is another's; `option_invalid`, `option_unknown`
 */
export function sqliteStore<D extends SqliteDatabase | SqliteConnection>(
  options: SqliteStoreOptions<D>,
): SyncTransactionalStore<D> {
  const { retentionMs, table: name, clock } = checkOptions(options)
  const owner = { owner: 'sqliteStore', name, insteadOfFile: '; or leave store out for memoryStore' }
  const { database, table, file } = openTable(options.database, owner, (opened) => {
    const made = new EventsTable(opened, name, retentionMs, () => clock.now())
    made.tryWriting()
    return made
  })
  const writer = Writer.on(database, file, () => table.sweep())
  const newToken = makeTokens()
  return {
    retentionMs,
    keepsPositions: true,
    claim: (key, leaseMs, positionKeys) => {
      const token = newToken()
      return writer.write(() => table.claim(key, token, leaseMs, positionKeys))
    },
    renew: (key, token, leaseMs, marks, positions) => {
      const kept = [...marks] // the caller may have changed its list by the time this is written
      return writer.write(() => table.renew(key, token, leaseMs, kept, positions))
    },
    complete: (key, token, positions, by) => writer.write(() => table.complete(key, token, positions, by)),
    release: (key, token, marks, positions) => {
      const kept = [...marks]
      return writer.write(() => table.release(key, token, kept, positions))
    },
    forget: (key) => writer.write(() => table.forget(key)),
    transactionSync: ({ key, token, mark, signal, position }, work) => {
      const inOwnContext = AsyncLocalStorage.snapshot() // another delivery's job may have started the group
      return writer.write(() => {
        signal.throwIfAborted()
        const entry = table.checkClaim(key, token, mark)
        if (position !== undefined) table.checkPosition(position)
        const result = database.guard.run(() => inOwnContext(work, options.database))
        if (position !== undefined) table.keepPositions([position])
        table.mark(key, entry, mark) // only in the transaction that the work ran in
        return result
      }, true)
    },
  }
}

const check = new OptionChecker('sqliteStore')

function checkOptions(options: SqliteStoreOptions<SqliteDatabase | SqliteConnection>) {
  const retention = whole(1, LONGEST_RETENTION_MS, 'milliseconds')
  const kinds = { database: ANY, retentionMs: retention, table: tableName(LONGEST_NAME), clock: withMethods('now') }
  check.mustFit(options, kinds, ['database'])
  const { retentionMs = DEFAULT_RETENTION_MS, table = 'postern_events', clock = systemClock } = options
  return { retentionMs, table, clock }
}
