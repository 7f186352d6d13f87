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
/** BullMQ's lists, which have the newest job first; the other states are sorted. */
const NEWEST_FIRST: readonly JobType[] = ['wait', 'active']
/** The place at which a page begins: after this many jobs of a list, or after dead letters of this time. */
const PLACES: Readonly<Record<InboxState, RegExp>> = {
  waiting: /^(wait|prioritized|delayed|active):\d+$/,
  running: /^active:\d+$/,
  dead: /^\d+:[A-Za-z0-9._~!*'()%,-]+$/,
}
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
  const { limit, after } = checkList(state, options, (text) => PLACES[state].test(text))
  const backend = await connect()
  return state === 'dead' ? readDead(backend, limit, after) : readLines(backend, state, limit, after)
}

/** Lists page after page by number: an item that is added or removed meanwhile may be on two pages, or on none. */
async function readLines(
  backend: RedisQueueBackend,
  state: InboxState,
  limit: number,
  after: string,
): Promise<InboxPage> {
  const [from = '', offset = '0'] = after.split(':')
  const types = TYPES[state]
  const entries: InboxEntry[] = []
  const first = types.map(String).indexOf(from)
  let start = Number(offset)
  for (const type of types.slice(Math.max(first, 0))) {
    const room = limit - entries.length
    const [ids = []] = await backend.getRanges([type], start, start + room, !NEWEST_FIRST.includes(type))
    const jobs = await readJobs(backend, await filterActive(backend, type, state, ids.slice(0, room)))
    entries.push(...jobs.map((job) => toEntry(job, state)))
    if (ids.length > room) return { entries, next: `${type}:${start + room}` }
    start = 0
  }
  return { entries, next: undefined }
}

/** An active job whose lock has ended waits. */
async function filterActive(backend: RedisQueueBackend, type: JobType, state: InboxState, ids: readonly string[]) {
  if (type !== 'active') return ids
  const unlocked = new Set(await findUnlocked(backend, ids))
  return ids.filter((id) => unlocked.has(id) === (state === 'waiting'))
}

/** Lists from the time of the last job, not its number: a caller that replays removes the jobs before it. */
async function readDead(backend: RedisQueueBackend, limit: number, after: string): Promise<InboxPage> {
  const [from = '0', listed = ''] = after.split(':')
  const before = new Set(listed.split(','))
  const range = [from, '+inf', 'LIMIT', '0', String(limit + before.size + 1)]
  const ids = await call(backend, 'ZRANGEBYSCORE', backend.toKey('failed'), ...range)
  const left = (ids as readonly string[]).filter((id) => !before.has(encodeURIComponent(id))) // the command returns a list
  const jobs = await readRaw(backend, left.slice(0, limit))
  const entries = jobs.flatMap(({ id, raw }) => readJob(id, raw, true) ?? []).map((job) => toEntry(job, 'dead'))
  const at = Number(jobs.at(-1)?.raw.finishedOn)
  if (left.length <= limit || jobs.length === 0) return { entries, next: undefined }
  const same = jobs.filter(({ raw }) => Number(raw.finishedOn) === at).map(({ id }) => encodeURIComponent(id))
  if (Number(from) === at) same.unshift(...before)
  return { entries, next: `${at}:${same.join(',')}` }
}

/** Leaves out jobs that were removed since they were listed, and jobs of other programs. */
async function readJobs(backend: IQueueBackend, ids: readonly string[]): Promise<readonly JobItem[]> {
  return (await readRaw(backend, ids)).flatMap(({ id, raw }) => readJob(id, raw, false) ?? [])
}

async function readRaw(backend: IQueueBackend, ids: readonly string[]) {
  const jobs = await Promise.all(ids.map(async (id) => ({ id, raw: await backend.getJobData(id) })))
  return jobs.flatMap(({ id, raw }) => (raw === undefined ? [] : { id, raw }))
}
