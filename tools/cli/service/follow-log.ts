import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, Delivery } from '../../../src/client/client.ts'
import { readLog } from '../../../src/client/replay-plan.ts'
import { toColumns } from '../output/print-delivery.ts'

const POLL_MS = 2_000
/** Number of looks after which the whole log is read, for a manual retry of an old delivery. */
const WHOLE_EVERY = 30

/** Yields the deliveries of a log, and then new and changed ones, the newest last, until the signal aborts. */
export async function* followLog(
  client: Client,
  id: string,
  since: Date | undefined,
  signal: AbortSignal,
  pollMs = POLL_MS,
): AsyncGenerator<readonly Delivery[]> {
  const known = new Map<string, Delivery>()
  for (let look = 0; !signal.aborted; look++) {
    const isWhole = look % WHOLE_EVERY === 0
    const from = isWhole ? since : findStart([...known.values()], since)
    const log = await readLog(client, id, from, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
    if (log === undefined) return
    const news = log.filter((delivery) => toText(known.get(delivery.id)) !== toText(delivery))
    if (isWhole) known.clear() // forgets what the service has forgotten
    for (const delivery of log) known.set(delivery.id, delivery)
    yield news.toReversed()
    await sleep(pollMs, undefined, { signal }).catch(() => {})
  }
}

function toText(delivery: Delivery | undefined): string {
  return delivery === undefined ? '' : JSON.stringify(toColumns(delivery))
}

/** Returns the time from which on lines may be new or may change; `since` if a line has no time. */
function findStart(known: readonly Delivery[], since: Date | undefined): Date | undefined {
  const timesOf = (deliveries: readonly Delivery[]) =>
    deliveries.map(({ createdAt }) => createdAt?.getTime() ?? Number.NaN)
  const isOpen = ({ state }: Delivery) => state === 'pending' || state === 'unknown'
  const newest = timesOf(known).reduce((one, other) => Math.max(one, other), since?.getTime() ?? 0)
  const start = timesOf(known.filter(isOpen)).reduce((one, other) => Math.min(one, other), newest)
  return Number.isNaN(start) ? since : new Date(start)
}
