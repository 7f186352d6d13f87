import type { Client } from './api.ts'
import type { Delivery } from './records.ts'

/** Reads a log to its end, or to `since` if it is sorted by time with the newest first. */
export async function readLog(
  client: Client,
  webhookId: string,
  since: Date | undefined,
  signal: AbortSignal | undefined,
): Promise<readonly Delivery[]> {
  const log: Delivery[] = []
  let [last, isFalling, isRising] = [Number.NaN, false, false]
  for await (const delivery of client.deliveries(webhookId, { signal })) {
    const time = delivery.createdAt?.getTime() ?? Number.NaN
    if (time < last) isFalling = true
    if (time > last) isRising = true
    if (since !== undefined && isFalling && !isRising && time < since.getTime()) break
    if (!Number.isNaN(time)) last = time
    log.push(delivery)
  }
  return log
}

/**
 * Groups a log by event, and picks one delivery of each event that was never delivered, the oldest first. Counts the failed events of
 * which another delivery succeeded or is pending.
 *
 * @param isWanted selects the failed deliveries to consider
 * @param isRetried leaves out the event of a delivery that was retried before
 */
export function planReplay(
  log: readonly Delivery[],
  isWanted: (delivery: Delivery) => boolean,
  isRetried = (_delivery: Delivery) => false,
) {
  const groups = new Map<string, Delivery[]>()
  for (const delivery of log) {
    const key = delivery.eventId === undefined ? `delivery ${delivery.id}` : `event ${delivery.eventId}`
    groups.set(key, [...(groups.get(key) ?? []), delivery])
  }
  const toRetry: Delivery[] = []
  const skipped = { delivered: 0, pending: 0 }
  for (const group of groups.values()) {
    const wanted = group.filter((delivery) => delivery.state === 'failed' && isWanted(delivery))
    const [last] = wanted.sort((one, other) => timeOf(other) - timeOf(one))
    if (last === undefined || group.some(isRetried)) continue
    if (group.some(({ state }) => state === 'succeeded')) skipped.delivered++
    else if (group.some(({ state }) => state === 'pending')) skipped.pending++
    else toRetry.push(last)
  }
  return { toRetry: oldestFirst(toRetry), skipped }
}

/** Sorts by time. If times are missing, assumes that the log has the newest first, as most logs do. */
function oldestFirst(deliveries: readonly Delivery[]): readonly Delivery[] {
  const turned = deliveries.toReversed()
  return deliveries.every(({ createdAt }) => createdAt !== undefined)
    ? turned.sort((one, other) => timeOf(one) - timeOf(other))
    : turned
}

function timeOf({ createdAt }: Delivery): number {
  return createdAt?.getTime() ?? 0
}
