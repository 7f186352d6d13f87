import {
  ANY,
  type Clock,
  type Inbox,
  type InboxItem,
  type InboxState,
  type ListOptions,
  OptionChecker,
  pollInbox,
  systemClock,
  withMethods,
} from '../../../src/engine.ts'
import { DEAD_LETTER, DEFAULT_DEAD_LETTER_MS } from '../dead-letters.ts'
import { checkKey } from '../inbox-lines.ts'
import { nameWorker } from '../name-worker.ts'
import { PutListeners } from '../put-listeners.ts'
import type { SqliteConnection, SqliteDatabase } from './database.ts'
import { explain } from './faults.ts'
import { SqliteInboxTable } from './inbox-table.ts'
import { SqliteInboxView } from './inbox-view.ts'
import { openTable, tableName } from './open-table.ts'
import { InboxLog, WorkTable } from './work-table.ts'
import { Writer } from './writer.ts'

/** Options of `sqliteInbox`. */
export interface SqliteInboxOptions {
  /** A database of `openSqlite`, or a driver's own connection. Best use the store's: the writes of both are then committed together. */
  readonly database: SqliteDatabase | SqliteConnection
  /** The time for which dead letters are kept, in milliseconds. Default 30 days. */
  readonly deadLetterMs?: number | undefined
  /** Name of the inbox's table, which the inbox creates. Default `postern_inbox`. */
  readonly table?: string | undefined
  /** Default: the machine's clock, which all processes on the file must share. */
  readonly clock?: Pick<Clock, 'now' | 'monotonic'> | undefined
}

const LONGEST_NAME = 56

/**
 * An inbox in a SQLite file: durable, for one machine with any number of processes. Accepting an event takes one commit, which all events
 * that arrive together share.
 *
 * @throws ConfigurationError `database_unusable` for a database in memory, read-only, locked, on a network file system, or whose
 * table is another's; `option_invalid`, `option_unknown`
 */
export function sqliteInbox(options: SqliteInboxOptions): Inbox {
  const { deadLetterMs, table: name, clock } = checkOptions(options)
  const now = () => clock.now()
  const {
    database,
    table: steps,
    file,
  } = openTable(options.database, { owner: 'sqliteInbox', name }, (opened) => new SqliteInboxTable(opened, name, now))
  const view = new SqliteInboxView(database, name, now)
  const log = new InboxLog(file)
  const writer = Writer.on(database, file)
  const listeners = new PutListeners()
  const workTable = new WorkTable({ table: steps, writer, clock, deadLetterMs, log, onPut: listeners.onPut })
  return {
    keepsLanes: true,
    commandOptions: ['--sqlite', file, ...(name === 'postern_inbox' ? [] : ['--table', name])],
    // Workers are woken before the commit, and take the item in the same commit or a later one.
    async put(item: InboxItem) {
      await writer.write(() => {
        if (steps.put(item)) listeners.wake()
      })
      if (item.lane !== undefined) steps.onLaneKept()
    },
    work: (run, workOptions) => pollInbox(workTable, nameWorker(), run, workOptions),
    counts: () => read(() => view.counts()),
    list: (state: InboxState, options: ListOptions = {}) => read(() => view.list(state, options)),
    get: (key) => read(() => view.get(checkKey('get', key))),
    async replay(key) {
      checkKey('replay', key)
      return writer.write(() => {
        const isReplayed = steps.replay(key)
        if (isReplayed) listeners.wake()
        return isReplayed
      })
    },
    drop: async (key) => workTable.drop(checkKey('drop', key)),
    reportTo: (given) => {
      log.logger = given
    },
  }
}

/** Reads need no transaction. They fail in the same way as writes. */
async function read<T>(step: () => T): Promise<Awaited<T>> {
  try {
    return await step()
  } catch (error) {
    throw explain(error)
  }
}

const check = new OptionChecker('sqliteInbox')

function checkOptions(options: SqliteInboxOptions) {
  const clockKind = withMethods('now', 'monotonic')
  const kinds = { database: ANY, deadLetterMs: DEAD_LETTER, table: tableName(LONGEST_NAME), clock: clockKind }
  check.mustFit(options, kinds, ['database'])
  const { deadLetterMs = DEFAULT_DEAD_LETTER_MS, table = 'postern_inbox', clock = systemClock } = options
  return { deadLetterMs, table, clock }
}
