import type { InboxEntry, InboxItem, InboxState, InboxTry, ListedEntry } from '../../../src/engine.ts'
import { readJson, readList } from '../stored-json.ts'
import type { SqliteRow, SqliteValue } from './database.ts'

/** @param bytes null for a body that cannot be read */
export function toEntry(row: SqliteRow, bytes: SqliteValue, state: InboxState): InboxEntry {
  return { ...toListed(row, state), bytes: bytes === null ? new Uint8Array() : (bytes as Uint8Array) } // the column holds nothing else
}

export function toListed(row: SqliteRow, state: InboxState): ListedEntry {
  return {
    key: String(row.key),
    accountKey: String(row.account),
    id: String(row.id),
    type: String(row.type),
    receivedAt: Number(row.received_at),
    ...(row.source === null ? {} : { source: String(row.source) }),
    ...((row.lane ?? row.away) === null ? {} : { lane: String(row.lane ?? row.away) }),
    ...(row.trace === null ? {} : { trace: readJson(row.trace) as InboxItem['trace'] }),
    state,
    dueAt: Number(row.due_at),
    since: Number(row.since),
    failures: Number(row.failures),
    deaths: Number(row.deaths),
    marks: readList<string>(row.marks),
    tries: readList<InboxTry>(row.tries),
  }
}
