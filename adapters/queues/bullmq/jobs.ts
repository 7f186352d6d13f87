import type { IQueueBackend, JobJson, MinimalJob, RedisQueueBackend } from 'bullmq'
import type { InboxEntry, InboxItem } from '../../../src/engine.ts'
import { isRefused } from './connection.ts'
import { ask } from './durability.ts'
import { type Replay, readJob, toEntry, toJobData, toJobId } from './job-data.ts'

/** BullMQ's methods read only the id and these options of the job that is passed to them. */
export function asJob(jobId: string): MinimalJob {
  return { id: jobId, opts: { attempts: 1 } } as MinimalJob // they take Job, and need only this
}

/**
 * Adds an item as a job, unless a job with its key exists; a dead letter with its key waits again.
 *
 * @param now Redis' time, in milliseconds since 1970
 */
export async function addJob(backend: IQueueBackend, item: InboxItem, priority: number, now: number): Promise<void> {
  const jobId = toJobId(item.key)
  const [, isDead] = await Promise.all([
    backend.addJob(toJob(jobId, item, priority, now), jobId),
    backend.isJobInState('failed', jobId),
  ])
  if (isDead) await revive(backend, jobId, now)
}

function toJob(jobId: string, item: InboxItem, priority: number, timestamp: number): JobJson {
  const data = JSON.stringify(toJobData(item))
  return {
    id: jobId,
    name: item.type,
    data,
    timestamp,
    priority,
    opts: { attempts: 1, priority, removeOnComplete: true, removeOnFail: false },
    progress: 0,
    attemptsMade: 0,
    attemptsStarted: 0,
    failedReason: '',
    returnvalue: 'null',
    stalledCounter: 0,
  }
}

/** The most by which two processes measure Redis' time differently, in milliseconds: an item that is due so soon counts as due. */
const MOST_APART_MS = 500

/** Resolves with false if another replay wins, or it neither is a dead letter nor waits for a later try. */
export async function replayJob(backend: IQueueBackend, jobId: string, now: number): Promise<boolean> {
  if (await backend.isJobInState('failed', jobId)) return revive(backend, jobId, now)
  const raw = await backend.getJobData(jobId)
  const dueAt = (raw && readJob(jobId, raw, false))?.state.dueAt ?? now
  return (
    dueAt - now > MOST_APART_MS && tryToMove(backend, jobId, { replayedAt: now, dueAt }, () => backend.promote(jobId))
  )
}

function revive(backend: IQueueBackend, jobId: string, now: number): Promise<boolean> {
  return tryToMove(backend, jobId, { replayedAt: now }, () => backend.retryFinishedJob(asJob(jobId), 'failed'))
}

/** Resolves with false if the job is in another state by then; its progress does no harm there. */
async function tryToMove(
  backend: IQueueBackend,
  jobId: string,
  replay: Replay,
  move: () => Promise<void>,
): Promise<boolean> {
  try {
    await backend.updateProgress(jobId, replay)
    await move()
    return true
  } catch (error) {
    if (isRefused(error)) return false
    throw error
  }
}

/** Deletes a job, unless a worker has it locked. */
export async function dropJob(backend: IQueueBackend, jobId: string): Promise<boolean> {
  if ((await backend.getState(jobId)) === 'unknown') return false
  return (await backend.remove(jobId, false)) === 1
}

/** Returns the running jobs whose lock has ended, since their worker died: they wait. */
export async function findUnlocked(backend: RedisQueueBackend, ids: readonly string[]): Promise<readonly string[]> {
  if (ids.length === 0) return []
  const locks = await ask(backend, 'MGET', ...ids.map((id) => `${backend.toKey(id)}:lock`))
  return ids.filter((_, index) => Array.isArray(locks) && locks[index] === null)
}

export async function getEntry(backend: RedisQueueBackend, key: string): Promise<InboxEntry | undefined> {
  const jobId = toJobId(key)
  const [raw, state] = await Promise.all([backend.getJobData(jobId), backend.getState(jobId)])
  if (raw === undefined || state === 'unknown') return undefined
  const isRunning = state === 'active' && (await findUnlocked(backend, [jobId])).length === 0
  const of = isRunning ? 'running' : state === 'failed' ? 'dead' : 'waiting'
  const job = readJob(jobId, raw, of === 'dead')
  return job && toEntry(job, of)
}
