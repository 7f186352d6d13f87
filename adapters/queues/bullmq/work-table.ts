import type { IQueueBackend, RedisQueueBackend } from 'bullmq'
import {
  type InboxEntry,
  type InboxTable,
  keepTry,
  type Settlement,
  systemClock,
  type Taken,
  type TakeRequest,
} from '../../../src/engine.ts'
import { MOST_BYTES } from '../../stores/inbox-lines.ts'
import { type Connection, isRefused } from './connection.ts'
import { type ItemState, type JobItem, readJob, toEntry, toJobData } from './job-data.ts'
import { asJob } from './jobs.ts'
import type { RedisTime } from './redis-time.ts'
import { LAST } from './turns.ts'

/** A job that this worker has locked. */
interface Held extends JobItem {
  state: ItemState
  /** The token of the lock. */
  token: string
  /** Set if a settlement got no answer: it may have been carried out. */
  isInDoubt: boolean
}

/** An item as `pollInbox` gets it and passes it back. */
interface HeldEntry extends InboxEntry {
  readonly jobId: string
}

interface Parts extends Pick<InboxTable, 'onPut'> {
  /** Called with a job that is no event of the inbox. */
  readonly onForeign?: () => void
  readonly connection: Connection
  readonly time: RedisTime
  readonly worker: string
  readonly leaseMs: number
  /** Called before each search for items, for periodic tasks. */
  readonly tidy: (backend: RedisQueueBackend, now: number) => Promise<void>
}

/** The steps of a worker, by BullMQ's own methods. */
export class WorkTable implements InboxTable {
  readonly onPut: InboxTable['onPut']
  readonly #parts: Parts
  readonly #held = new Map<string, Held>()
  /** Items that were taken and wait until nothing else runs: two or more workers died at each. */
  readonly #suspects: Held[] = []
  #tokens = 0
  #hasBacklog = false
  /** True if the last search ended at the limit of bytes. */
  #isCut = false
  #lookedForDeadAt = Number.NEGATIVE_INFINITY

  constructor(parts: Parts) {
    this.#parts = parts
    this.onPut = parts.onPut
  }

  async take({ limit, suspects }: TakeRequest): Promise<Taken> {
    const { connection, time, tidy } = this.#parts
    const backend = await connection.get()
    await time.read(backend)
    await tidy(backend, time.now())
    await this.#endLeases(backend)
    const isOpen = suspects === 'leave' || suspects === 'join'
    if (this.#suspects.length === 0 || isOpen) {
      const items = await this.#takeSome(backend, limit)
      if (items.length > 0 || isOpen) return { items: items.map(toHeldEntry), isCut: this.#isCut }
    }
    const suspect = this.#suspects[0]
    if (suspect === undefined) return { items: [] }
    if (suspects === 'await') return { items: [], isAwaited: true }
    // While this process was suspended, another worker may have taken the job and made it a dead letter.
    const isHeld = await this.#holds(backend, suspect)
    // Written to disk before the item runs, so that a crash counts.
    if (isHeld) await this.#write(backend, suspect, { ...suspect.state, alone: 'runs' })
    this.#suspects.shift()
    if (!isHeld) {
      this.#held.delete(suspect.jobId)
      return { items: [] }
    }
    // BullMQ does not keep how long a job ran before its worker died.
    return { items: [toHeldEntry(suspect)], ranMs: Number.POSITIVE_INFINITY }
  }

  /** Makes the jobs of dead workers wait again. BullMQ does it once per interval, no matter how many workers ask. */
  async #endLeases(backend: IQueueBackend): Promise<void> {
    const now = systemClock.monotonic()
    if (now - this.#lookedForDeadAt < this.#parts.leaseMs / 3) return
    this.#lookedForDeadAt = now
    await backend.moveStalledJobsToWait()
  }

  /**
   * Without a backlog, takes one, then as many again: asking in vain costs as much as taking an item. Large bodies are not asked for all
   * together either: their locks would end before they have arrived.
   */
  async #takeSome(backend: IQueueBackend, limit: number): Promise<readonly Held[]> {
    const items: Held[] = []
    let bytes = 0
    let length = this.#hasBacklog ? limit : 1
    for (;;) {
      const taken = await Promise.allSettled(Array.from({ length }, () => this.#takeOne(backend)))
      const some = taken
        .map((one) => (one.status === 'fulfilled' ? one.value : undefined))
        .filter((one) => typeof one === 'object')
      items.push(...some)
      const failed = taken.find((one) => one.status === 'rejected')
      // A job whose answer was lost may have been taken. Its lock expires, and it is handed out again.
      if (failed !== undefined && items.length === 0) throw failed.reason
      for (const { item } of some) bytes += item.bytes.length
      this.#isCut = bytes >= MOST_BYTES && items.length < limit
      this.#hasBacklog = some.length === length && !this.#isCut
      if (!this.#hasBacklog || items.length === limit) return items
      length = Math.min(items.length, limit - items.length)
    }
  }

  /** Resolves with undefined if none waits. */
  async #takeOne(backend: IQueueBackend): Promise<Held | 'suspect' | undefined> {
    const token = `${this.#parts.worker}:${this.#tokens++}`
    const [raw, jobId] = await backend.moveToActive(token, this.#parts.worker)
    if (!raw) return undefined
    const stalls = Number(raw.stalledCounter ?? 0)
    const running = this.#held.get(jobId)
    if (running !== undefined) {
      // Its lock expired while it ran here, since the process was suspended. It runs on, and has a lock again.
      running.token = token
      running.state = { ...running.state, stalls }
      return this.#takeOne(backend)
    }
    const job = readJob(jobId, raw, false)
    if (job === undefined) {
      this.#parts.onForeign?.()
      await backend.moveToFailed(asJob(jobId), 'not an event of this inbox', false, token, false)
      return this.#takeOne(backend)
    }
    const held = { ...job, state: judge(job.state, stalls), token, isInDoubt: false }
    this.#held.set(jobId, held)
    if (held.state.alone === 'no') return held
    this.#suspects.push(held)
    return 'suspect'
  }

  async renew(_worker: string, leaseMs: number): Promise<void> {
    const held = [...this.#held.values()]
    if (held.length === 0) return
    const backend = await this.#parts.connection.get()
    const [ids, tokens] = [held.map(({ jobId }) => jobId), held.map(({ token }) => token)]
    // A silent connection must not use up the lease: the next call may use another one.
    const limit = new Promise<never>((_, reject) =>
      setTimeout(reject, leaseMs / 5, new Error('no answer in time')).unref(),
    )
    await Promise.race([backend.extendLocks(ids, tokens, leaseMs), limit])
  }

  async settle(item: InboxEntry, _worker: string, settlement: Settlement): Promise<boolean> {
    const held = this.#held.get((item as HeldEntry).jobId) // the object that take() returned
    if (held === undefined) return false
    const backend = await this.#parts.connection.get()
    let isSettled = true
    try {
      await this.#settle(backend, held, settlement)
    } catch (error) {
      if (!isRefused(error)) {
        held.isInDoubt = true
        throw error
      }
      isSettled = held.isInDoubt && (await this.#wasSettled(backend, held, settlement))
    }
    this.#held.delete(held.jobId)
    return isSettled
  }

  async #settle(backend: IQueueBackend, held: Held, settlement: Settlement): Promise<void> {
    const { jobId, token } = held
    const job = asJob(jobId)
    const now = this.#parts.time.now()
    if (settlement.next === 'remove') return void (await backend.moveToCompleted(job, null, true, token, false))
    await this.#mustHold(backend, held)
    await this.#write(backend, held, settled(held, settlement, now))
    if (settlement.next === 'wait' && settlement.tried === undefined)
      return void (await backend.moveToDelayed(jobId, now, 0, token, { skipAttempt: true }))
    if (held.priority !== LAST) await backend.changePriority(jobId, LAST)
    if (settlement.next === 'wait')
      return void (await backend.moveToDelayed(jobId, now, Math.ceil(settlement.afterMs), token))
    const { code, error = '' } = settlement.tried
    await backend.moveToFailed(job, `${code}: ${error}`, false, token, false)
  }

  /** BullMQ does not compare the lock for what is written before the last step. */
  async #mustHold(backend: IQueueBackend, held: Held): Promise<void> {
    if (await this.#holds(backend, held)) return
    throw Object.assign(new Error(`the lock of ${held.jobId} has ended`), { code: -2 })
  }

  async #holds(backend: IQueueBackend, { jobId, token }: Held): Promise<boolean> {
    return (await backend.extendLocks([jobId], [token], this.#parts.leaseMs)).length === 0
  }

  async #write(backend: IQueueBackend, held: Held, state: ItemState): Promise<void> {
    await backend.updateData(asJob(held.jobId), toJobData(held.item, state))
  }

  /** The step that got no answer was carried out if its data is there. */
  async #wasSettled(backend: IQueueBackend, held: Held, settlement: Settlement): Promise<boolean> {
    const { jobId } = held
    const raw = await backend.getJobData(jobId)
    if (settlement.next === 'remove' || raw === undefined) return settlement.next === 'remove' && raw === undefined
    const last = readJob(jobId, raw, true)?.state.tries.at(-1)
    const isWritten = last?.n === settlement.tried?.n && last?.worker === settlement.tried?.worker
    return isWritten && !(await this.#holds(backend, held))
  }

  /** Returns jobs to the queue that were taken and have not begun. */
  async giveBack(): Promise<void> {
    for (const held of this.#suspects.splice(0)) {
      const afterwards: Settlement = { next: 'wait', afterMs: 0, isFailure: false }
      await this.settle(toHeldEntry(held), this.#parts.worker, afterwards).catch(() => {}) // its lock expires by itself
    }
  }
}

function toHeldEntry(held: Held): HeldEntry {
  return { ...toEntry(held, 'running'), jobId: held.jobId }
}

/** Counts the workers that died since the state was written, by BullMQ's own count. From the second on, the item has to run alone. */
function judge(state: ItemState, stalls: number): ItemState {
  if (stalls <= state.stalls) return state.alone === 'runs' ? { ...state, alone: 'waits' } : state
  const losses = state.losses + stalls - state.stalls
  const deaths = state.deaths + (state.alone === 'runs' ? 1 : 0)
  return { ...state, stalls, losses, deaths, alone: losses > 1 ? 'waits' : 'no' }
}

function settled(
  { state, attempts }: Held,
  settlement: Exclude<Settlement, { next: 'remove' }>,
  now: number,
): ItemState {
  const { tried } = settlement
  const isAlone = state.alone !== 'no'
  if (tried === undefined) return { ...state, dueAt: now, alone: isAlone ? 'waits' : 'no' }
  const tries = keepTry(state.tries, tried)
  if (settlement.next === 'bury')
    return { ...state, tries, marks: settlement.marks, alone: 'no', buried: { at: now, after: attempts } }
  const dueAt = now + Math.ceil(settlement.afterMs)
  const failures = state.failures + (settlement.isFailure ? 1 : 0)
  const next = { ...state, dueAt, failures, tries }
  if (settlement.isUnproven === true) return { ...next, alone: isAlone ? 'waits' : 'no' }
  return { ...next, alone: 'no', losses: 0, deaths: 0 }
}
