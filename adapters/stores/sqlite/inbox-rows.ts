import type { InboxEntry, InboxItem, InboxState, InboxTry, ListedEntry } from '../../../src/index.ts'
import type { SqliteRow } from './database.ts'

export function toEntry(row: SqliteRow, state: InboxState): InboxEntry {
  return { ...toListed(row, state), bytes: row.bytes as Uint8Array } // the column holds nothing else
}

export function toListed(row: SqliteRow, state: InboxState): ListedEntry {
  return {
    key: String(row.key),
    accountKey: String(row.account),
    id: String(row.id),
    type: String(row.type),
    receivedAt: Number(row.received_at),
    ...(row.source === null ? {} : { source: String(row.source) }),
    ...(row.trace === null ? {} : { trace: readJson(row.trace) as InboxItem['trace'] }),
    state,
    dueAt: Number(row.due_at),
    since: Number(row.since),
    failures: Number(row.failures),
    deaths: Number(row.deaths),
    marks: toList<string>(row.marks),
    tries: toList<InboxTry>(row.tries),
  }
}

/** Only this file writes the lists. */
function toList<T>(text: SqliteRow[string] | undefined): readonly T[] {
  const list = readJson(text)
  return Array.isArray(list) ? list : []
}

/** A damaged value is omitted: one row must not keep the workers from all others. */
function readJson(text: SqliteRow[string] | undefined): unknown {
  try {
    return JSON.parse(String(text))
  } catch {
    return undefined
  }
}
