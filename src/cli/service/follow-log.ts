import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, Delivery } from '../../client/client.ts'
import { readLog } from '../../client/replay-plan.ts'
import { toColumns } from '../output/print-delivery.ts'

/** Pause between two looks at the log. */
const POLL_MS = 2_000
/** Number of looks after which the whole log is read, for a manual retry of an old delivery. */
const WHOLE_EVERY = 30
/** Number of lines that one look may read. After a longer one, looks read only the newest lines, to spare the rate limit. */
const LINES_PER_LOOK = 500

/** Yields the deliveries of a log, and then new and changed ones, the newest last, until the signal aborts. */
export async function* followLog(
  client: Client,
  id: string,
  since: Date | undefined,
  signal: AbortSignal,
  pollMs = POLL_MS,
): AsyncGenerator<readonly Delivery[]> {
  const known = new Map<string, Known>()
  let [canStop, nextWhole, nextDeep] = [false, 0, 0]
  for (let look = 0; !signal.aborted; look++) {
    const isWhole = look >= nextWhole
    const isDeep = look >= nextDeep
    const reading =
      isWhole || !canStop ? readLog(client, id, since, signal) : readNews(client, id, { known, since, signal, isDeep })
    const log = await reading.catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
    if (log === undefined) return
    if (isWhole) canStop = isNewestFirst(log)
    const news = log.filter((delivery) => known.get(delivery.id)?.text !== toText(delivery))
    if (isWhole) known.clear() // forgets what the service has forgotten
    for (const delivery of log) known.set(delivery.id, toKnown(delivery))
    const paid = Math.floor(log.length / LINES_PER_LOOK)
    if (isWhole) nextWhole = look + Math.max(WHOLE_EVERY, paid)
    if (isWhole || isDeep) nextDeep = look + 1 + paid
    yield news.toReversed()
    await sleep(pollMs, undefined, { signal }).catch(() => {})
  }
}

interface Known {
  readonly text: string
  /** Time of a line that may still change; otherwise infinite. */
  readonly openAt: number
}

function toKnown(delivery: Delivery): Known {
  const isOpen = delivery.state === 'pending' || delivery.state === 'unknown'
  return { text: toText(delivery), openAt: isOpen ? timeOf(delivery) : Number.POSITIVE_INFINITY }
}

function toText(delivery: Delivery): string {
  return JSON.stringify(toColumns(delivery))
}

function timeOf({ createdAt }: Delivery): number {
  return createdAt?.getTime() ?? Number.NaN
}

interface NewsOptions {
  readonly known: ReadonlyMap<string, Known>
  readonly since: Date | undefined
  readonly signal: AbortSignal
  /** True to read further, down to the oldest line that may still change. */
  readonly isDeep: boolean
}

/** Reads a log that is sorted newest first down to a known line. */
async function readNews(
  client: Client,
  id: string,
  { known, since, signal, isDeep }: NewsOptions,
): Promise<readonly Delivery[]> {
  let oldestOpenAt = Number.POSITIVE_INFINITY
  if (isDeep) for (const { openAt } of known.values()) if (openAt < oldestOpenAt) oldestOpenAt = openAt
  const news: Delivery[] = []
  for await (const delivery of client.deliveries(id, { signal })) {
    const time = timeOf(delivery)
    if (since !== undefined && time < since.getTime()) break
    if (time < oldestOpenAt && known.get(delivery.id)?.text === toText(delivery)) break
    news.push(delivery)
  }
  return news
}

function isNewestFirst(log: readonly Delivery[]): boolean {
  const times = log.map(timeOf)
  return times.every((time, at) => at === 0 || time <= (times[at - 1] ?? Number.NaN)) && times[0] !== times.at(-1)
}
