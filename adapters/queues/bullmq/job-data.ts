import { isUtf8 } from 'node:buffer'
import type { JobJson } from 'bullmq'
import type { InboxEntry, InboxItem, InboxState, InboxTry } from '../../../src/engine.ts'

/** The state of an item. It is written with each try, since BullMQ counts tries differently from the inbox. */
export interface ItemState {
  readonly since: number
  readonly dueAt: number
  readonly failures: number
  readonly deaths: number
  /** The number of workers that died at the item since it was last proven. */
  readonly losses: number
  readonly marks: readonly string[]
  readonly tries: readonly InboxTry[]
  /** The number of workers that had died at the item when this was written (BullMQ's count of stalls). */
  readonly stalls: number
  /** The item's isolation: it waits to run alone in its process, or runs alone. */
  readonly alone: 'no' | 'waits' | 'runs'
  /** When the item became a dead letter, and BullMQ's count of attempts before: a greater one on a job that is not failed tells of a replay. */
  readonly buried?: { readonly at: number; readonly after: number }
}

/** The progress of a job that was replayed, since BullMQ moves it in one step that cannot write the state. */
export interface Replay {
  readonly replayedAt: number
  /** The later time at which it was due, if it was no dead letter. */
  readonly dueAt?: number
}

/** A job of the queue as an item of the inbox. */
export interface JobItem {
  readonly jobId: string
  readonly item: InboxItem
  readonly state: ItemState
  readonly priority: number
  /** BullMQ's count of attempts that have ended. */
  readonly attempts: number
}

/** The fields of a job that BullMQ returns and the inbox reads. */
export type RawJob = Pick<
  JobJson,
  'data' | 'timestamp' | 'finishedOn' | 'priority' | 'progress' | 'stalledCounter' | 'attemptsMade'
>

/** The body is stored as text, so that dashboards show it, unless it is not text. */
type Stored = Omit<InboxItem, 'bytes'> & {
  readonly text?: string
  readonly base64?: string
  readonly state?: ItemState
}

/** BullMQ allows neither a colon in an id nor an id of digits only. */
export function toJobId(key: string): string {
  const quote = (character: string) =>
    [...Buffer.from(character)].map((byte) => `=${byte.toString(16).padStart(2, '0')}`).join('')
  return `e-${key.replace(/[^A-Za-z0-9._-]/gu, quote)}`
}

/** @param state omitted for an item without a try */
export function toJobData({ bytes, ...item }: InboxItem, state?: ItemState): object {
  const isText = isUtf8(bytes) && !bytes.includes(0)
  const body = isText ? { text: Buffer.from(bytes).toString() } : { base64: Buffer.from(bytes).toString('base64') }
  return { ...item, ...body, state }
}

/** Returns undefined for a job that does not belong to this inbox. */
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
    attempts: raw.attemptsMade,
  }
}

/** A replayed dead letter starts again here; an item whose later try was made due has its new time. */
function currentState(state: ItemState, raw: RawJob, isDead: boolean): ItemState {
  const { replayedAt, dueAt } = readReplay(raw.progress)
  if (isDead) return state
  if (state.buried === undefined) return dueAt === state.dueAt ? { ...state, dueAt: replayedAt } : state
  const { buried, ...before } = state
  if (raw.attemptsMade === buried.after) return before // its worker died before the job had failed
  const { marks, tries, stalls } = state
  const since = Math.max(buried.at, replayedAt)
  return { ...firstState(since), marks, tries, stalls }
}

function firstState(since: number): ItemState {
  return { since, dueAt: since, failures: 0, deaths: 0, losses: 0, marks: [], tries: [], stalls: 0, alone: 'no' }
}

export function toEntry({ item, state }: JobItem, of: InboxState): InboxEntry {
  const { since, failures, deaths, marks, tries } = state
  const dueAt = of === 'dead' ? (state.buried?.at ?? state.dueAt) : state.dueAt
  return { ...item, state: of, dueAt, since, failures, deaths, marks, tries }
}

function readReplay(progress: unknown): Replay {
  const { replayedAt, dueAt } = Object(progress)
  return { replayedAt: typeof replayedAt === 'number' ? replayedAt : 0, dueAt }
}

/** Dashboards let people add, copy and change jobs: none of those may stop the workers. */
function parse(json: string): Stored | undefined {
  try {
    const { key, accountKey, id, type, receivedAt, text, base64, state, ...rest } = Object(JSON.parse(json))
    const body = text === undefined ? { base64 } : { text }
    const texts = { key, accountKey, id, type, ...body }
    if (!Object.values(texts).every(isText) || typeof receivedAt !== 'number') return undefined
    return { ...rest, ...texts, receivedAt, ...(isState(state) && { state }) }
  } catch {
    return undefined
  }
}

function isState(value: unknown): value is ItemState {
  const { marks, tries } = Object(value)
  return Array.isArray(marks) && Array.isArray(tries)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
