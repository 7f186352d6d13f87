import * as z from 'zod'
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

const entry = z.object({
  webhookId: z.string(),
  since: z.union([z.null(), z.iso.datetime().transform((text) => new Date(text))]).optional(),
  deliveryId: z.string().optional(),
  eventId: z.string().optional(),
  attempts: z.number().optional(),
  /** Earlier versions left it out, and wrote only what was accepted. */
  step: z.enum(['asked', 'accepted']).default('accepted'),
})

/** The entries of one webhook. The last line may have been cut by a crash. */
export async function readJournal(journal: ReplayJournal, webhookId: string): Promise<Journaled> {
  const retries = new Map<string, JournaledRetry>()
  let since: Date | null | undefined
  for (const line of await journal.read()) {
    const read = parse(line)
    if (read?.webhookId !== webhookId) continue
    if (read.since !== undefined) since = read.since
    if (read.deliveryId === undefined) continue
    const { eventId, attempts, step } = read
    const before = retries.get(read.deliveryId)
    retries.set(read.deliveryId, {
      eventId,
      // The first retry counts: it has changed what the log counted before the second.
      attempts: attempts === undefined ? undefined : Math.min(attempts, before?.attempts ?? attempts),
      isAccepted: before?.isAccepted === true || step === 'accepted',
    })
  }
  return { since, retries }
}

function parse(line: string): z.infer<typeof entry> | undefined {
  try {
    return entry.safeParse(JSON.parse(line)).data
  } catch {
    return undefined
  }
}
