import { OptionChecker } from '../protocol/option-checker.ts'
import type { CallOptions, Client } from './api.ts'
import type { Delivery } from './records.ts'
import {
  type Journaled,
  type JournaledRetry,
  type ReplayJournal,
  readJournal,
  toRetryLine,
  toWindowLine,
} from './replay-journal.ts'
import { planReplay, readLog } from './replay-plan.ts'
import { hasCode } from './service-error.ts'
import { MAX_POLL_MS, MAX_WAIT_MS, sleep } from './sleep.ts'

export interface ReplayOptions extends CallOptions {
  readonly webhookId: string
  /** Only deliveries that were made since. Default: all of the log. A journal keeps that of the run that began it. */
  readonly since?: Date
  /** Only failed deliveries for which it gives true, such as those of one type. */
  readonly filter?: (delivery: Delivery) => boolean
  /** How many events are brought back at most, the oldest first, those of the journal included. */
  readonly limit?: number
  /** Retries under way at once. Default 2; 1 to 20. */
  readonly concurrency?: number
  /** Only find out what would be retried. */
  readonly dryRun?: boolean
  /** Makes an interrupted replay resumable. */
  readonly journal?: ReplayJournal
  /** Milliseconds until the log is looked at for results; the pauses grow to ten times that. Default 1,000. */
  readonly pollMs?: number
  /** How long to wait for a further result before the rest counts as unresolved. Default 60,000. */
  readonly waitMs?: number
  readonly onProgress?: (progress: ReplayProgress) => void
}

export interface ReplayProgress {
  /** Events to be brought back, those of an interrupted run included. */
  readonly total: number
  /** Retries that the service took on in this run. */
  readonly retried: number
  /** Retries of an earlier run, known from the journal. */
  readonly resumed: number
  /** Deliveries that the service did not take on: `not_retriable` and `gone`. */
  readonly refused: number
  readonly succeeded: number
  readonly failed: number
}

/**
 * What became of one event. `planned`: by `dryRun` only. `unresolved`: the log had no result in time. `not_retriable`: the service
 * refused. `gone`: the delivery is not there any more.
 */
export type ReplayOutcome = 'planned' | 'succeeded' | 'failed' | 'unresolved' | 'not_retriable' | 'gone'

export interface ReplayedEvent {
  /** The log's line as it was before. */
  readonly delivery: Delivery
  /** The log's line with the result, where one was read. */
  readonly after: Delivery | undefined
  readonly outcome: ReplayOutcome
}

export interface ReplayResult {
  /** Each event that nobody had got, the oldest first. */
  readonly events: readonly ReplayedEvent[]
  /** Retries that the service took on in this run. */
  readonly retried: number
  /** Retries of an earlier run, known from the journal. */
  readonly resumed: number
  /** Failed events that were left out: another delivery of theirs had succeeded, or was under way. */
  readonly skipped: { readonly delivered: number; readonly pending: number }
  /** When the deliveries that were looked at begin; that of the journal if it has one. Undefined: not limited. */
  readonly since: Date | undefined
}

/** An event on its way back. */
interface Item {
  readonly before: Delivery
  /** How many attempts the log counted before the retry. */
  readonly attempts: number | undefined
  after: Delivery | undefined
  outcome: ReplayOutcome | undefined
  tries: number
  /** It isn't known whether the service took the last retry on. */
  isUncertain: boolean
}

const check = new OptionChecker('replayFailed')
/** A retry whose answer was lost, and which the log doesn't show, is made again this often. */
const MAX_TRIES = 3

/**
 * Brings back what failed for good: reads the log, takes one failed delivery of each event that never came through, has them retried
 * with the oldest first, at the pace of the rate limit, and reads from the log what became of them.
 *
 * Interrupted by its signal, an error or a crash, it can be called again with the same journal: no accepted retry is repeated.
 *
 * @throws ServiceError of the calls; ConfigurationError `option_invalid`
 */
export async function replayFailed(client: Client, options: ReplayOptions): Promise<ReplayResult> {
  const { webhookId, filter, limit = Number.POSITIVE_INFINITY, concurrency = 2, signal, journal } = options
  checkReplay(options)
  const earlier = journal === undefined ? NOTHING : await readJournal(journal, webhookId)
  // Given as a span, it has moved since the first run.
  const since = earlier.since === undefined ? options.since : (earlier.since ?? undefined)
  const log = await readLog(client, webhookId, since, signal)
  const isInTime = ({ createdAt }: Delivery) => since === undefined || createdAt === undefined || createdAt >= since
  const isNew = isUnknownTo(earlier)
  const plan = planReplay(log, (delivery) => isNew(delivery) && isInTime(delivery) && (filter?.(delivery) ?? true))
  const resumed = log.flatMap((delivery) => {
    const retry = earlier.retries.get(delivery.id)
    return retry === undefined ? [] : [toResumed(delivery, retry)]
  })
  const fresh = plan.toRetry.slice(0, Math.max(limit - resumed.length, 0)).map(toItem)
  const replay = new Replay(client, options, resumed, fresh)
  if (options.dryRun) for (const item of fresh) item.outcome = 'planned'
  else {
    if (earlier.since === undefined) await journal?.append(toWindowLine(webhookId, since))
    await replay.retryAll(concurrency)
    await replay.awaitResults()
  }
  return {
    events: [...resumed, ...fresh].map(({ before, after, outcome = 'unresolved' }) => ({
      delivery: before,
      after,
      outcome,
    })),
    retried: replay.retried,
    resumed: resumed.length,
    skipped: { delivered: plan.delivered, pending: plan.pending },
    since,
  }
}

/** What is no number would find nothing to retry, or look for results without a pause. */
function checkReplay({ since, filter, limit, concurrency = 2, pollMs = 1_000, waitMs = 0 }: ReplayOptions): void {
  check.areFunctions({ filter })
  check.isWhole('concurrency', concurrency, 1, 20)
  if (limit !== undefined && limit !== Number.POSITIVE_INFINITY)
    check.isWhole('limit', limit, 0, Number.MAX_SAFE_INTEGER)
  check.isNumber('pollMs', pollMs, 1, MAX_POLL_MS)
  check.isNumber('waitMs', waitMs, 0, MAX_WAIT_MS)
  if (since !== undefined && !(since instanceof Date && !Number.isNaN(since.getTime())))
    throw check.invalid('since is no valid Date.')
}

const NOTHING: Journaled = { since: undefined, retries: new Map() }

/** An event that was retried is not retried by another of its deliveries. */
function isUnknownTo({ retries }: Journaled): (delivery: Delivery) => boolean {
  const events = new Set([...retries.values()].map(({ eventId }) => eventId))
  return ({ id, eventId }) => !retries.has(id) && (eventId === undefined || !events.has(eventId))
}

function toItem(before: Delivery): Item {
  const { attempts } = before
  return { before, attempts, after: undefined, outcome: undefined, tries: 0, isUncertain: false }
}

/** One whose answer never came is made again if the log counts attempts, and no further one. */
function toResumed(before: Delivery, { attempts, isAccepted }: JournaledRetry): Item {
  const tries = attempts === undefined || before.attempts === undefined ? MAX_TRIES : 1
  const item: Item = { ...toItem(before), attempts, tries, isUncertain: !isAccepted }
  settle(item, before)
  return item
}

/** Takes a result from a line of the log. The line that failed before is there until the retry has been made. */
function settle(item: Item, line: Delivery): void {
  const { state, attempts } = line
  if (state === 'succeeded') item.outcome = 'succeeded'
  if (state === 'failed' && attempts !== undefined && attempts > (item.attempts ?? attempts)) item.outcome = 'failed'
  if (item.outcome !== undefined) item.after = line
}

/** A replay under way. */
class Replay {
  readonly #client: Client
  readonly #options: ReplayOptions
  readonly #resumed: readonly Item[]
  readonly #fresh: readonly Item[]
  readonly #items: readonly Item[]
  retried = 0

  constructor(client: Client, options: ReplayOptions, resumed: readonly Item[], fresh: readonly Item[]) {
    this.#client = client
    this.#options = options
    this.#resumed = resumed
    this.#fresh = fresh
    this.#items = [...resumed, ...fresh]
  }

  async retryAll(concurrency: number): Promise<void> {
    this.#tell()
    const queue = this.#fresh.values() // shared: each worker takes the next
    let isStopped = false
    const work = async () => {
      for (const item of queue) {
        if (isStopped) return
        await this.#retry(item)
      }
    }
    const stop = (error: unknown) => {
      isStopped = true
      throw error
    }
    // All come to rest before the first failure is thrown: what was accepted is in the journal then.
    const ends = await Promise.allSettled(Array.from({ length: concurrency }, () => work().catch(stop)))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }

  async #retry(item: Item): Promise<void> {
    const { webhookId, journal, signal } = this.#options
    const { clock } = this.#client
    item.tries++
    item.isUncertain = false
    await journal?.append(toRetryLine(webhookId, item.before, 'asked', clock.now()))
    try {
      const { delivery } = await this.#client.retry(webhookId, item.before.id, { signal })
      this.retried++
      await journal?.append(toRetryLine(webhookId, item.before, 'accepted', clock.now()))
      if (delivery?.state === 'succeeded') settle(item, delivery)
    } catch (error) {
      if (hasCode(error, 'not_retriable')) item.outcome = 'not_retriable'
      else if (hasCode(error, 'not_found')) item.outcome = 'gone'
      else if (hasCode(error, 'outcome_unknown')) item.isUncertain = true
      else throw error
    }
    this.#tell()
  }

  /** Reads the log until all results are there, or none has come for `waitMs`. */
  async awaitResults(): Promise<void> {
    const { pollMs = 1_000, waitMs = 60_000, signal } = this.#options
    const { clock } = this.#client
    let lastResultAt = clock.monotonic()
    for (let pause = pollMs; this.#open().size > 0; pause = Math.min(pause * 1.5, pollMs * 10)) {
      const count = this.#open().size
      const seen = await this.#look()
      if (this.#open().size < count) lastResultAt = clock.monotonic()
      this.#tell()
      if (this.#open().size === 0) return
      if (clock.monotonic() - lastResultAt >= waitMs) return this.#giveUp(seen)
      await sleep(clock, pause, signal)
    }
  }

  /** One look at the log, as far as it is needed. Gives the lines of what is open still. */
  async #look(): Promise<ReadonlyMap<string, Delivery>> {
    const { webhookId, signal } = this.#options
    const open = this.#open()
    const seen = new Map<string, Delivery>()
    for await (const delivery of this.#client.deliveries(webhookId, { signal })) {
      const item = open.get(delivery.id)
      if (item === undefined) continue
      settle(item, delivery)
      seen.set(delivery.id, delivery)
      if (seen.size === open.size) break
    }
    for (const [id, item] of open) {
      if (!item.isUncertain || item.outcome !== undefined || seen.get(id)?.state === 'pending') continue
      // Its answer was lost, and the log shows no sign of it.
      if (item.tries < MAX_TRIES) await this.#retry(item)
    }
    return seen
  }

  /** Without a count of attempts a retry that failed looks as it did before. */
  #giveUp(seen: ReadonlyMap<string, Delivery>): void {
    for (const [id, item] of this.#open()) {
      item.outcome = seen.get(id)?.state === 'failed' && !item.isUncertain ? 'failed' : 'unresolved'
      item.after = seen.get(id)
    }
    this.#tell()
  }

  #open(): ReadonlyMap<string, Item> {
    return new Map(this.#items.filter(({ outcome }) => outcome === undefined).map((item) => [item.before.id, item]))
  }

  #tell(): void {
    const count = (wanted: ReplayOutcome) => this.#items.filter(({ outcome }) => outcome === wanted).length
    const progress = {
      total: this.#items.length,
      retried: this.retried,
      resumed: this.#resumed.length,
      refused: count('not_retriable') + count('gone'),
      succeeded: count('succeeded'),
      failed: count('failed'),
    }
    this.#options.onProgress?.(progress)
  }
}
