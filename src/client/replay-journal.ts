import type { Delivery } from './records.ts'

/** Remembers what a replay asked for, so that one that was interrupted goes on without repeating any retry. One for each replay. */
export interface ReplayJournal {
  /** The lines that were appended before, in any order. */
  read(): Iterable<string> | Promise<Iterable<string>>
  /** Called before each retry and after the service took it on, and once with the time from which deliveries are retried. */
  append(line: string): void | Promise<void>
}

/** A retry of an earlier run. */
export interface JournaledRetry {
  readonly eventId: string | undefined
  /** How many attempts the log counted before. */
  readonly attempts: number | undefined
  /** Whether the service is known to have taken it on. */
  readonly isAccepted: boolean
}

/** What an earlier run did. */
export interface Journaled {
  /** When the deliveries to be retried begin. `null` if they were not limited; undefined if no earlier run said. */
  readonly since: Date | null | undefined
  /** By the id of the delivery. */
  readonly retries: ReadonlyMap<string, JournaledRetry>
}

export function toWindowLine(webhookId: string, since: Date | undefined): string {
  return JSON.stringify({ webhookId, since: since?.toISOString() ?? null })
}

export function toRetryLine(
  webhookId: string,
  { id, eventId, attempts }: Delivery,
  step: 'asked' | 'accepted',
  at: number,
): string {
  return JSON.stringify({ webhookId, deliveryId: id, eventId, attempts, step, at: new Date(at).toISOString() })
}

/** The entries of one webhook. The last line may have been cut by a crash. */
export async function readJournal(journal: ReplayJournal, webhookId: string): Promise<Journaled> {
  const retries = new Map<string, JournaledRetry>()
  let since: Date | null | undefined
  for (const line of await journal.read()) {
    const entry = parse(line)
    if (entry?.webhookId !== webhookId) continue
    if (entry.since === null) since ??= null
    if (typeof entry.since === 'string') since ??= new Date(entry.since)
    const { deliveryId } = entry
    if (typeof deliveryId !== 'string') continue
    const before = retries.get(deliveryId)
    retries.set(deliveryId, {
      eventId: typeof entry.eventId === 'string' ? entry.eventId : undefined,
      // Of the first line: a retry that was asked for twice has changed what the log counts.
      attempts: before === undefined && typeof entry.attempts === 'number' ? entry.attempts : before?.attempts,
      isAccepted: before?.isAccepted === true || entry.step !== 'asked',
    })
  }
  return { since, retries }
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}
