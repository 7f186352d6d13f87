import * as z from 'zod'
import { parseJson } from '../protocol/parse-json.ts'
import type { Delivery } from './records.ts'

/** Journal of the retries of one replay, so that an interrupted replay resumes without repeating any. Use one for each replay. */
export interface ReplayJournal {
  /** Returns the lines that were appended before, in any order. */
  read(): Iterable<string> | Promise<Iterable<string>>
  /** Called before each retry, after the service accepted it, and once with the start of the period to replay. */
  append(line: string): void | Promise<void>
}

export interface JournaledRetry {
  readonly eventId: string | undefined
  readonly attempts: number | undefined
  readonly isAccepted: boolean
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
  step: z.enum(['asked', 'accepted']).optional(),
})

/** Reads the entries of one webhook: the retries by the id of their delivery. A crash may have truncated the last line. */
export async function readJournal(journal: ReplayJournal | undefined, webhookId: string) {
  const retries = new Map<string, JournaledRetry>()
  let since: Date | null | undefined // null: the whole log
  for (const line of (await journal?.read()) ?? []) {
    const read = entry.safeParse(parseJson(line)).data
    if (read?.webhookId !== webhookId) continue
    if (read.since !== undefined) since = read.since
    if (read.deliveryId === undefined) continue
    const { eventId, attempts, step } = read
    const before = retries.get(read.deliveryId)
    retries.set(read.deliveryId, {
      eventId,
      // The first retry counts: it changed the number in the log before the second was made.
      attempts: attempts === undefined ? undefined : Math.min(attempts, before?.attempts ?? attempts),
      isAccepted: before?.isAccepted === true || step === 'accepted',
    })
  }
  return { since, retries }
}
