import { isUtf8 } from 'node:buffer'
import type { JobJson } from 'bullmq'
import type { InboxEntry, InboxItem, InboxState, InboxTry } from '../../../src/index.ts'

/** What became of an item so far. It is written with each try, since BullMQ's own count of tries is not what the inbox counts. */
export interface ItemState {
  readonly since: number
  readonly dueAt: number
  readonly failures: number
  readonly deaths: number
  readonly marks: readonly string[]
  readonly tries: readonly InboxTry[]
  /** How many workers had died at it (BullMQ's count of stalls) when this was written. */
  readonly stalls: number
  /** Whether it has to run alone in its process, or does. */
  readonly alone: 'no' | 'waits' | 'runs'
  /** When it became a dead letter. Set on a job that is not failed, it says that the dead letter was replayed. */
  readonly buriedAt?: number
}

/** A job of the queue as an item of the inbox. */
export interface JobItem {
  readonly jobId: string
  readonly item: InboxItem
  readonly state: ItemState
  readonly priority: number
}

/** As much of a job as BullMQ gives back. */
export type RawJob = Pick<JobJson, 'data' | 'timestamp' | 'finishedOn' | 'priority' | 'progress' | 'stalledCounter'>

/** The body stands as text, so that dashboards show it, unless it is none. */
type Stored = Omit<InboxItem, 'bytes'> & {
  readonly text?: string
  readonly base64?: string
  readonly state?: ItemState
}

/** BullMQ takes no colon in an id, and no id of digits only. */
export function toJobId(key: string): string {
  const quote = (character: string) =>
    [...Buffer.from(character)].map((byte) => `=${byte.toString(16).padStart(2, '0')}`).join('')
  return `e-${key.replace(/[^A-Za-z0-9._-]/gu, quote)}`
}

/** @param state left out for an item that was not tried yet */
export function toJobData({ bytes, ...item }: InboxItem, state?: ItemState): object {
  const isText = isUtf8(bytes) && !bytes.includes(0)
  const body = isText ? { text: Buffer.from(bytes).toString() } : { base64: Buffer.from(bytes).toString('base64') }
  const data = { ...item, ...body, ...(state && { state }) }
  const json = JSON.stringify(data)
  // Postgres takes neither in jsonb.
  return /\\u(?:0000|d[89a-f])/.test(json) ? { packed: Buffer.from(json).toString('base64') } : data
}

/** Returns undefined for a job that is none of this inbox. */
export function readJob(jobId: string, raw: RawJob, isDead: boolean): JobItem | undefined {
  const stored = parse(raw.data)
  if (stored === undefined) return undefined
  const { text, base64, state, ...item } = stored
  const bytes = text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text)
  return {
    jobId,
    item: { ...item, bytes },
    state: currentState(state ?? firstState(raw.timestamp), raw, isDead),
    priority: Number(raw.priority ?? 0),
  }
}

/** A dead letter that was replayed begins anew. It is replayed in one step, which cannot write this. */
function currentState(state: ItemState, raw: RawJob, isDead: boolean): ItemState {
  if (isDead || state.buriedAt === undefined) return state
  const { buriedAt, marks, tries, stalls } = state
  const since = Math.max(buriedAt, replayedAt(raw.progress))
  return { ...firstState(since), marks, tries, stalls }
}

function firstState(since: number): ItemState {
  return { since, dueAt: since, failures: 0, deaths: 0, marks: [], tries: [], stalls: 0, alone: 'no' }
}

export function toEntry({ item, state }: JobItem, of: InboxState): InboxEntry {
  const { since, failures, deaths, marks, tries } = state
  const dueAt = of === 'dead' ? (state.buriedAt ?? state.dueAt) : state.dueAt
  return { ...item, state: of, dueAt, since, failures, deaths, marks, tries }
}

function replayedAt(progress: unknown): number {
  const at = Object(progress).replayedAt
  return typeof at === 'number' ? at : 0
}

/** Dashboards let people add jobs, and copy and change those that are there: one of them must not stop the workers. */
function parse(json: string): Stored | undefined {
  try {
    const data = JSON.parse(json)
    const stored = typeof data?.packed === 'string' ? JSON.parse(Buffer.from(data.packed, 'base64').toString()) : data
    const { key, accountKey, id, type, receivedAt, text, base64, state, ...rest } = Object(stored)
    const body = text === undefined ? { base64 } : { text }
    const texts = { key, accountKey, id, type, ...body }
    if (!Object.values(texts).every(isText) || typeof receivedAt !== 'number') return undefined
    return { ...rest, ...texts, receivedAt, ...(isState(state) && { state }) }
  } catch {
    return undefined
  }
}

function isState(value: unknown): value is ItemState {
  const { since, dueAt, failures, deaths, stalls, marks, tries } = Object(value)
  const areNumbers = [since, dueAt, failures, deaths, stalls].every((number) => typeof number === 'number')
  return (
    areNumbers &&
    Array.isArray(marks) &&
    marks.every(isText) &&
    Array.isArray(tries) &&
    tries.every((one) => Object(one) === one)
  )
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
