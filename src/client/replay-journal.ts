import type { Delivery } from './records.ts'

/** Remembers which retries the service took on, so that a replay that was interrupted goes on without repeating any. One for each replay. */
export interface ReplayJournal {
  /** The lines that were appended before, in any order. */
  read(): Iterable<string> | Promise<Iterable<string>>
  /** Called once for each retry, after the service took it on. */
  append(line: string): void | Promise<void>
}

/** A retry of an earlier run, with what the log said before it. */
export interface JournalEntry {
  readonly deliveryId: string
  readonly attempts: number | undefined
}

export function toLine(webhookId: string, { id, eventId, attempts }: Delivery, at: number): string {
  return JSON.stringify({ webhookId, deliveryId: id, eventId, attempts, at: new Date(at).toISOString() })
}

/** The entries of one webhook. The last line may have been cut by a crash: that retry is found in the log. */
export async function readJournal(
  journal: ReplayJournal,
  webhookId: string,
): Promise<ReadonlyMap<string, JournalEntry>> {
  const entries = new Map<string, JournalEntry>()
  for (const line of await journal.read()) {
    const entry = parse(line)
    if (entry?.webhookId !== webhookId || typeof entry.deliveryId !== 'string') continue
    const attempts = typeof entry.attempts === 'number' ? entry.attempts : undefined
    entries.set(entry.deliveryId, { deliveryId: entry.deliveryId, attempts })
  }
  return entries
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}
