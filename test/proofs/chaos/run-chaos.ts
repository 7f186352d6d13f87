import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Inbox } from 'postern'
import type { RunningEngine } from './running-engine.ts'
import { ScheduleSender } from './sender.ts'
import { judge, type Verdict } from './verdict.ts'
import { WorkerPool } from './worker-pool.ts'

export interface ChaosOptions {
  readonly engine: RunningEngine
  readonly events: number
  readonly kills: number
  readonly workers: number
  /** The number of concurrent deliveries. */
  readonly concurrency: number
  readonly leaseMs: number
  readonly retryScale: number
  /** True if the engine is stopped, killed and restarted as well. */
  readonly engineFaults: boolean
  /** The number of records that the events of an account are about. Default: each event has its own. */
  readonly records?: number
  readonly onProgress?: (done: number) => void
}

export interface ChaosReport extends Omit<Verdict, 'faults'> {
  readonly events: number
  readonly deliveries: number
  readonly attempts: number
  readonly manualRetries: number
  readonly kills: number
  readonly engineFaults: number
  readonly seconds: number
  readonly peakWorkerMb: number
  /** The longest time from the end of a fault of the engine to an acknowledged delivery. */
  readonly secondsToRecover: number
  /** With an inbox: poisoned events that became dead letters, as they must. */
  readonly poisonedAndDead?: number
  /** Answers by their status. */
  readonly statuses: Readonly<Record<string, number>>
  /** All of these must be zero. */
  readonly faults: Verdict['faults'] & {
    /** Deliveries that were never acknowledged, manual retries included. */
    readonly lost: number
    readonly diedByThemselves: number
    /** Deliveries acknowledged while the engine could not write. */
    readonly acknowledgedWhileLocked: number
    /** With transactions: events whose effect is not in the user's table exactly once. */
    readonly effectsNotOnce: number
    /** With an inbox: items that were still in it long after the last delivery. */
    readonly stuck?: number
    /** With an inbox: dead letters that were not poisoned. */
    readonly deadLetters?: number
    /** With an inbox: poisoned events that are no dead letters. */
    readonly poisonedNotDead?: number
  }
  readonly lastWords: readonly string[]
}

const COPIED_SHARE = 0.3
const FAILURE_RATE = 0.05
/** Kills and faults are over by this part of the events, so that the end of a run shows recovery. */
const DISTURBED_PART = 0.9
/** The rest of an inbox is stuck if nothing changes for this time, or if it never ends, whatever the speed of the machine. */
const STANDSTILL_MS = 120_000
const LONGEST_BACKLOG_MS = 3_600_000

/** Sends signed events to workers that are killed all the time, and judges the outcome of each. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const startedAt = performance.now()
  const folder = await mkdtemp(join(tmpdir(), 'postern-chaos-'))
  const { engine, leaseMs } = options
  const pool = await WorkerPool.start(options.workers, folder, {
    engine: engine.address,
    leaseMs,
    failureRate: FAILURE_RATE,
  })
  const { retryScale } = options
  const sender = new ScheduleSender({ pickPort: () => pool.pickPort(), retryScale, isLocked: engine.isLocked })
  try {
    const { ids, deliveries, lost, engineFaults, secondsToRecover } = await sendAll(options, pool, sender)
    const isPoisoned = (id: string) => engine.inbox !== undefined && POISONED.test(id)
    const inInbox = engine.inbox && (await judgeInbox(engine.inbox, ids.filter(isPoisoned)))
    const lives = await pool.close()
    const handlers = engine.readEffects === undefined ? ['work', 'audit'] : ['audit'] // effects are judged by their rows
    const handlersOf = (id: string) => (isPoisoned(id) ? ['audit'] : handlers)
    const laneOf = (id: string) => toRecordId(id, options.records)
    const { faults, ...counts } = judge(ids, handlersOf, lives, engine.outages, laneOf)
    return {
      ...counts,
      events: ids.length,
      deliveries,
      attempts: sender.attempts,
      manualRetries: sender.manualRetries,
      kills: pool.kills,
      engineFaults,
      seconds: Math.round((performance.now() - startedAt) / 1_000),
      peakWorkerMb: Math.round(pool.peakResidentBytes / 1e6),
      secondsToRecover,
      ...(inInbox && { poisonedAndDead: inInbox.poisonedAndDead }),
      statuses: Object.fromEntries(sender.statuses),
      faults: {
        ...faults,
        lost,
        diedByThemselves: pool.diedByThemselves,
        acknowledgedWhileLocked: sender.acknowledgedWhileLocked,
        effectsNotOnce: countNotOnce(
          ids.filter((id) => !isPoisoned(id)),
          await engine.readEffects?.(),
        ),
        ...inInbox?.faults,
      },
      lastWords: pool.lastWords,
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Sends all events with their duplicates, while workers and engine are disturbed. */
async function sendAll(options: ChaosOptions, pool: WorkerPool, sender: ScheduleSender) {
  const ids = Array.from({ length: options.events }, (_, index) => `evt_${index}`)
  let [deliveries, lost, done, next] = [0, 0, 0, 0]
  const late: Promise<void>[] = []
  const deliver = async (body: string) => {
    deliveries++
    if (!(await sender.deliver(body))) lost++
  }
  const send = async (id: string) => {
    const body = JSON.stringify(toEvent(id, options.records))
    const copies: Promise<void>[] = [deliver(body)]
    if (Math.random() < COPIED_SHARE) {
      if (Math.random() < 0.5) copies.push(deliver(body), deliver(body))
      else late.push(sleep(Math.random() * 2_000).then(() => deliver(body)))
    }
    await Promise.all(copies)
    options.onProgress?.(++done)
  }
  const lanes = Array.from({ length: options.concurrency }, async () => {
    for (let id = ids[next++]; id !== undefined; id = ids[next++]) await send(id)
  })
  const sending = Promise.all(lanes)
  let isSent = false
  void sending.finally(() => {
    isSent = true
  })
  const isBefore = (part: number) => !isSent && next < options.events * part
  const killing = disturb(options.kills, isBefore, () => pool.killOne())
  const faults = options.engineFaults ? options.engine.faults : []
  let secondsToRecover = 0
  const faulting = disturb(faults.length, isBefore, async (turn) => {
    await faults[turn]?.()
    const endedAt = performance.now()
    while (!(await sender.isAcknowledged(JSON.stringify(toEvent('evt_0', options.records))))) await sleep(50)
    secondsToRecover = Math.max(secondsToRecover, Math.round((performance.now() - endedAt) / 100) / 10)
  })
  await sending
  await Promise.all([...late, killing, faulting])
  return { ids, deliveries, lost, engineFaults: await faulting, secondsToRecover }
}

/** Runs a function so many times, spread over the run by its progress. */
async function disturb(
  times: number,
  isBefore: (part: number) => boolean,
  act: (turn: number) => Promise<void> | undefined,
): Promise<number> {
  for (let turn = 0; turn < times; turn++) {
    while (isBefore(((turn + 0.5) / times) * DISTURBED_PART)) await sleep(20)
    await act(turn)
  }
  return times
}

function countNotOnce(ids: readonly string[], effects: readonly string[] | undefined): number {
  if (effects === undefined) return 0
  const counts = new Map<string, number>()
  for (const id of effects) counts.set(id, (counts.get(id) ?? 0) + 1)
  return ids.filter((id) => counts.get(id) !== 1).length
}

/** Waits until an inbox is empty, and returns what is left in it. */
async function judgeInbox(inbox: Inbox, poisoned: readonly string[]) {
  const endsAt = performance.now() + LONGEST_BACKLOG_MS
  let counts = await inbox.counts()
  let changedAt = performance.now()
  const left = () => counts.waiting + counts.running
  while (left() > 0 && performance.now() < Math.min(endsAt, changedAt + STANDSTILL_MS)) {
    await sleep(100)
    const before = JSON.stringify(counts)
    counts = await inbox.counts()
    if (JSON.stringify(counts) !== before) changedAt = performance.now()
  }
  const dead = new Set<string>()
  let after: string | undefined
  do {
    const page = await inbox.list('dead', { after, limit: 1_000 })
    for (const { id } of page.entries) dead.add(id)
    after = page.next
  } while (after !== undefined)
  const poisonedAndDead = poisoned.filter((id) => dead.has(id)).length
  const faults = {
    stuck: left(),
    deadLetters: dead.size - poisonedAndDead,
    poisonedNotDead: poisoned.length - poisonedAndDead,
  }
  return { poisonedAndDead, faults }
}

/** Returns the events that can never be handled, if there is an inbox in which they can become dead letters. */
const POISONED = /77$/

/** Returns the id of the event's record, which an account does not share with another one. */
function toRecordId(id: string, records: number | undefined): string {
  return records === undefined ? id : `${id.length}-${Number(id.slice(4)) % records}`
}

function toEvent(id: string, records: number | undefined) {
  return {
    id,
    type: 'contact.created',
    timestamp: '2025-01-15T10:30:00.000Z',
    accountKey: `account-${id.length}`,
    data: { record: { _id: toRecordId(id, records), email: 'zoe@example.test', isPoisoned: POISONED.test(id) } },
  }
}
