import type { IQueueBackend, JobJson, MinimalJob } from 'bullmq'
import type { InboxEntry, InboxItem } from '../../../src/index.ts'
import { isRefused } from './connection.ts'
import { readJob, toEntry, toJobData, toJobId } from './job-data.ts'

/** What BullMQ's methods read of the job that they are given is its id and these options. */
export function asJob(jobId: string): MinimalJob {
  return { id: jobId, opts: { attempts: 1 } } as MinimalJob // they take Job, and need no more of it
}

/** Puts an item in as a job, unless there is one of its key; a dead letter of its key waits again. */
export async function addJob(backend: IQueueBackend, item: InboxItem, priority: number): Promise<void> {
  const jobId = toJobId(item.key)
  const [, isDead] = await Promise.all([
    backend.addJob(toJob(jobId, item, priority), jobId),
    backend.isJobInState('failed', jobId),
  ])
  if (isDead) await replayJob(backend, jobId)
}

function toJob(jobId: string, item: InboxItem, priority: number): JobJson {
  const data = JSON.stringify(toJobData(item))
  return {
    ...{ id: jobId, name: toPlain(item.type), data, timestamp: Date.now(), priority },
    opts: { attempts: 1, priority, removeOnComplete: true, removeOnFail: false },
    ...{ progress: 0, attemptsMade: 0, attemptsStarted: 0, failedReason: '', returnvalue: 'null', stalledCounter: 0 },
  }
}

/**
 * One step of the engine decides which of several replays it is; `since` is written before, which does no harm if it is none.
 * Resolves with false if the job is no dead letter.
 */
export async function replayJob(backend: IQueueBackend, jobId: string): Promise<boolean> {
  if (!(await backend.isJobInState('failed', jobId))) return false
  try {
    await backend.updateProgress(jobId, { replayedAt: Date.now() })
    await backend.retryFinishedJob(asJob(jobId), 'failed')
    return true
  } catch (error) {
    if (isRefused(error)) return false
    throw error
  }
}

/** Deletes a job that does not run. */
export async function dropJob(backend: IQueueBackend, jobId: string): Promise<boolean> {
  const state = await backend.getState(jobId)
  if (state === 'unknown' || state === 'active') return false
  return (await backend.remove(jobId, false)) === 1
}

export async function getEntry(backend: IQueueBackend, key: string): Promise<InboxEntry | undefined> {
  const jobId = toJobId(key)
  const [raw, state] = await Promise.all([backend.getJobData(jobId), backend.getState(jobId)])
  if (raw === undefined || state === 'unknown') return undefined
  const of = state === 'active' ? 'running' : state === 'failed' ? 'dead' : 'waiting'
  const job = readJob(jobId, raw, of === 'dead')
  return job && toEntry(job, of)
}

/** As a name, or as text that is only shown: Postgres takes no NUL. */
export function toPlain(text: string): string {
  return Buffer.from(text.replaceAll('\0', ' ')).toString()
}
