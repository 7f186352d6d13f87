import type { IQueueBackend, JobType, RedisQueueBackend } from 'bullmq'
import {
  type InboxCounts,
  type InboxEntry,
  type InboxPage,
  type InboxState,
  type ListOptions,
  MOST_COUNTED,
} from '../../../src/engine.ts'
import { checkList } from '../../stores/inbox-lines.ts'
import { call } from './durability.ts'
import { type JobItem, readJob, toEntry } from './job-data.ts'
import { findUnlocked } from './jobs.ts'

/** BullMQ's job states for each item state, in the order in which the jobs run. */
const TYPES: Readonly<Record<InboxState, readonly JobType[]>> = {
  // Of those that are active, the ones whose worker died.
  waiting: ['wait', 'prioritized', 'delayed', 'active'],
  running: ['active'],
  dead: ['failed'],
}
/** BullMQ's lists, which have the newest job first. The other states are sorted, by a score. */
const LISTS: readonly JobType[] = ['wait', 'active']
/** The place at which a page begins: after this many jobs of a list, or after these jobs of a score. */
const PLACE = /^(?:(?:wait|active):\d+|(?:prioritized|delayed|failed):\d+:[A-Za-z0-9._~!*'()%,-]*)$/
/** Jobs at the head of the line in which to find the one that has waited longest. */
const HEAD = 10
/** Running jobs whose locks are looked at. */
const MOST_LOCKS = 1_000

/** @param now Redis' time, in milliseconds since 1970 */
export async function readCounts(backend: RedisQueueBackend, now: number): Promise<InboxCounts> {
  const [[wait = 0, prioritized = 0, delayed = 0, active = 0, failed = 0], [running = []], heads] = await Promise.all([
    backend.getCounts([...TYPES.waiting, ...TYPES.dead]),
    backend.getRanges(['active'], 0, MOST_LOCKS - 1, true),
    backend.getRanges(['wait', 'prioritized', 'delayed'], 0, HEAD - 1, true),
  ])
  const unlocked = await findUnlocked(backend, running)
  const [waiting = [], next = [], later = []] = heads
  const toDueAt = ({ state }: JobItem) => state.dueAt
  const [inLine, delayedJobs] = await Promise.all([
    readJobs(backend, [...waiting, ...next, ...unlocked.slice(0, HEAD)]),
    readJobs(backend, later),
  ])
  // What is in line is due, even if the clock of the process that put it there is ahead.
  const due = [
    ...inLine.map((job) => Math.min(toDueAt(job), now)),
    ...delayedJobs.map(toDueAt).filter((at) => at <= now),
  ]
  return {
    waiting: Math.min(wait + prioritized + delayed + unlocked.length, MOST_COUNTED),
    running: Math.min(active - unlocked.length, MOST_COUNTED),
    dead: Math.min(failed, MOST_COUNTED),
    oldestDueAt: due.length === 0 ? undefined : Math.min(...due),
  }
}

/** Returns the turn of the next item; undefined if none waits. */
export async function readNextTurn(backend: IQueueBackend): Promise<number | undefined> {
  const [ids] = await backend.getRanges(['prioritized'], 0, 0, true)
  const [job] = await readJobs(backend, ids ?? [])
  return job?.priority
}

/** @throws ConfigurationError `option_invalid` */
export async function readPage(
  connect: () => Promise<RedisQueueBackend>,
  state: InboxState,
  options: ListOptions,
): Promise<InboxPage> {
  const types = TYPES[state]
  const { limit, after } = checkList(state, options, (text) => PLACE.test(text) && types.some(isOf(text)))
  const backend = await connect()
  const entries: InboxEntry[] = []
  let place = after.slice(after.indexOf(':') + 1)
  for (const type of types.slice(Math.max(types.findIndex(isOf(after)), 0))) {
    const read = LISTS.includes(type) ? readList : readSorted
    const { ids, next } = await read(backend, type, limit - entries.length, place)
    const jobs = await readJobs(backend, await filterActive(backend, type, state, ids), state === 'dead')
    entries.push(...jobs.map((job) => toEntry(job, state)))
    if (next !== undefined) return { entries, next: `${type}:${next}` }
    place = ''
  }
  return { entries, next: undefined }
}

const isOf = (place: string) => (type: JobType) => place.startsWith(`${type}:`)

interface Ids {
  readonly ids: readonly string[]
  /** Place of the next page; undefined on the last one. */
  readonly next: string | undefined
}

/** Reads by number: a job that is added or removed meanwhile may be on two pages, or move another one to none. */
async function readList(backend: RedisQueueBackend, type: JobType, limit: number, place: string): Promise<Ids> {
  const start = Number(place)
  const [ids = []] = await backend.getRanges([type], start, start + limit, false)
  return { ids: ids.slice(0, limit), next: ids.length > limit ? String(start + limit) : undefined }
}

/** Reads from the score of the last job, not its number: the jobs before it run meanwhile, or the caller replays or drops them. */
async function readSorted(backend: RedisQueueBackend, type: JobType, limit: number, place: string): Promise<Ids> {
  const [from = '', listed = ''] = place.split(':')
  const before = new Set(listed.split(','))
  const range = [from || '0', '+inf', 'WITHSCORES', 'LIMIT', '0', String(limit + before.size + 1)]
  const answer = await call(backend, 'ZRANGEBYSCORE', backend.toKey(type), ...range)
  const flat = (answer as readonly unknown[]).flat().map(String) // ids and scores, by the driver's version in pairs
  const jobs = flat
    .flatMap((id, index) => (index % 2 === 0 ? { id, score: flat[index + 1] ?? '' } : []))
    .filter(({ id }) => !before.has(encodeURIComponent(id)))
  const page = jobs.slice(0, limit)
  if (jobs.length <= limit) return { ids: page.map(({ id }) => id), next: undefined }
  const at = page.at(-1)?.score ?? (from || '0')
  const same = page.filter(({ score }) => score === at).map(({ id }) => encodeURIComponent(id))
  if (from === at) same.unshift(...before)
  return { ids: page.map(({ id }) => id), next: `${at}:${same.join(',')}` }
}

/** An active job whose lock has ended waits. */
async function filterActive(backend: RedisQueueBackend, type: JobType, state: InboxState, ids: readonly string[]) {
  if (type !== 'active') return ids
  const unlocked = new Set(await findUnlocked(backend, ids))
  return ids.filter((id) => unlocked.has(id) === (state === 'waiting'))
}

/** Leaves out jobs that were removed since they were listed, and jobs of other programs. */
async function readJobs(backend: IQueueBackend, ids: readonly string[], areDead = false): Promise<readonly JobItem[]> {
  const jobs = await Promise.all(ids.map(async (id) => ({ id, raw: await backend.getJobData(id) })))
  return jobs.flatMap(({ id, raw }) => (raw === undefined ? [] : (readJob(id, raw, areDead) ?? [])))
}
