import { sleep } from '../host/clock.ts'
import {
  FILLED_TEXT,
  FLAG,
  FUNCTION,
  type Kind,
  number,
  OptionChecker,
  SIGNAL,
  whole,
  withMethods,
} from '../protocol/option-checker.ts'
import type { CallOptions, Client } from './api.ts'
import type { Delivery } from './records.ts'
import { type JournaledRetry, type ReplayJournal, readJournal, toRetryLine, toWindowLine } from './replay-journal.ts'
import { planReplay, readLog } from './replay-plan.ts'
import { hasCode } from './service-error.ts'
import { CLIENT, MAX_POLL_MS, MAX_WAIT_MS } from './settings.ts'

/** Options of `replayFailed`: which failed deliveries to retry, and how long to wait for their results. */
export interface ReplayOptions extends CallOptions {
  readonly webhookId: string
  /** Only retries deliveries made since this time. Default: the whole log. A journal keeps the value of its first run. */
  readonly since?: Date | undefined
  /** Only retries failed deliveries for which it returns true, such as those of one type. */
  readonly filter?: ((delivery: Delivery) => boolean) | undefined
  /** Maximum number of events to replay, the oldest first, including those in the journal. */
  readonly limit?: number | undefined
  /** Number of concurrent retries. Default 2; 1 to 20. */
  readonly concurrency?: number | undefined
  /** Lists the events that would be retried, and retries none. */
  readonly dryRun?: boolean | undefined
  /** Makes an interrupted replay resumable. */
  readonly journal?: ReplayJournal | undefined
  /** Milliseconds until the log is first read for results; the pauses grow to ten times that. Default 1,000. */
  readonly pollMs?: number | undefined
  /** Milliseconds to wait for another result before the rest counts as unresolved. Default 60,000. */
  readonly waitMs?: number | undefined
  /** Called at the start, after each retry and after each read of the log. */
  readonly onProgress?: ((progress: ReplayProgress) => void) | undefined
}

/** State of a replay, for `onProgress`. */
export interface ReplayProgress {
  /** Events to replay, including those of an interrupted run. */
  readonly total: number
  /** Retries that the service accepted in this run. */
  readonly retried: number
  /** Retries of an earlier run, read from the journal. */
  readonly resumed: number
  /** Deliveries that the service did not accept for retry: `not_retriable` and `gone`. */
  readonly refused: number
  readonly succeeded: number
  readonly failed: number
}

/**
 * Outcome of one event. `planned`: only with `dryRun`. `unresolved`: the log had no result in time. `not_retriable`: the service
 * refused the retry. `gone`: the delivery no longer exists.
 */
export type ReplayOutcome = 'planned' | 'succeeded' | 'failed' | 'unresolved' | 'not_retriable' | 'gone'

/** An event of a replay, before and after its retry. */
export interface ReplayedEvent {
  /** Log entry before the retry. */
  readonly delivery: Delivery
  /** Log entry with the result; undefined if none was read. */
  readonly after: Delivery | undefined
  readonly outcome: ReplayOutcome
}

/** The result of a replay: each event, and the number of retries. */
export interface ReplayResult {
  /** Events that no delivery had brought through, the oldest first. */
  readonly events: readonly ReplayedEvent[]
  /** Retries that the service accepted in this run. */
  readonly retried: number
  /** Retries of an earlier run, read from the journal. */
  readonly resumed: number
  /** Failed events that were skipped because another delivery of the event had succeeded or was pending. */
  readonly skipped: { readonly delivered: number; readonly pending: number }
  /** Start of the period that was replayed, from the journal if it has one. Undefined: the whole log. */
  readonly since: Date | undefined
}

interface Item {
  readonly before: Delivery
  readonly isResumed: boolean
  /** Number of attempts in the log before the retry. */
  readonly attempts: number | undefined
  after: Delivery | undefined
  outcome: ReplayOutcome | undefined
  tries: number
  isUncertain: boolean
}

const check = new OptionChecker('replayFailed')
const COUNT = whole(0, Number.MAX_SAFE_INTEGER)
const OPTIONS: Readonly<Record<keyof ReplayOptions, Kind>> = {
  webhookId: FILLED_TEXT,
  since: (value) => (Number.isFinite(Object(value).getTime?.()) ? undefined : 'a valid Date'),
  filter: FUNCTION,
  limit: (value) => (value === Number.POSITIVE_INFINITY ? undefined : COUNT(value)),
  concurrency: whole(1, 20),
  dryRun: FLAG,
  journal: withMethods('read', 'append'),
  pollMs: number(1, MAX_POLL_MS),
  waitMs: number(0, MAX_WAIT_MS),
  onProgress: FUNCTION,
  signal: SIGNAL,
}
/** Number of times that a retry is requested if its answer is lost and the log does not show it. */
const MAX_TRIES = 3

/**
 * Replays events whose retries are used up: reads the log, picks one failed delivery of each event that was never delivered, asks the
 * service to retry them, the oldest first and within the rate limit, and reads the outcomes from the log.
 *
 * After an interruption by its signal, an error or a crash, call it again with the same journal: no accepted retry is repeated.
 *
 * @throws ServiceError of the calls; ConfigurationError `option_unknown`, `option_invalid`
 */
export async function replayFailed(client: Client, options: ReplayOptions): Promise<ReplayResult> {
  check.mustBe('client', client, CLIENT)
  check.mustFit(options, OPTIONS, ['webhookId'])
  const { webhookId, filter, limit = Number.POSITIVE_INFINITY, signal, journal } = options
  const { concurrency = 2, pollMs = 1_000, waitMs = 60_000 } = options
  const earlier = await readJournal(journal, webhookId)
  // A caller who computes it from a duration passes a later time than in the first run.
  const since = earlier.since === undefined ? options.since : (earlier.since ?? undefined)
  const log = await readLog(client, webhookId, since, signal)
  const isInTime = ({ createdAt }: Delivery) => since === undefined || createdAt === undefined || createdAt >= since
  const known = new Set([...earlier.retries.values()].map(({ eventId }) => eventId))
  known.delete(undefined)
  const isNew = ({ id, eventId }: Delivery) => !earlier.retries.has(id) && !known.has(eventId) // no event by two deliveries
  const isMeant = (delivery: Delivery) => filter === undefined || check.mustAnswer('filter', filter(delivery))
  const plan = planReplay(log, (delivery) => isNew(delivery) && isInTime(delivery) && isMeant(delivery))
  const resumed = log.flatMap((delivery) => {
    const retry = earlier.retries.get(delivery.id)
    return retry === undefined ? [] : [toResumed(delivery, retry)]
  })
  const fresh = plan.toRetry.slice(0, Math.max(limit - resumed.length, 0)).map(toItem)
  const items = [...resumed, ...fresh]
  const replay = new Replay(client, options, items)
  if (options.dryRun) for (const item of fresh) item.outcome = 'planned'
  else {
    if (earlier.since === undefined) await journal?.append(toWindowLine(webhookId, since))
    await replay.retryAll(concurrency)
    await replay.awaitResults(pollMs, waitMs)
  }
  return {
    events: items.map(({ before, after, outcome = 'unresolved' }) => ({ delivery: before, after, outcome })),
    retried: replay.retried,
    resumed: resumed.length,
    skipped: plan.skipped,
    since,
  }
}

function toItem(before: Delivery): Item {
  const { attempts } = before
  return { before, isResumed: false, attempts, after: undefined, outcome: undefined, tries: 0, isUncertain: false }
}

/** Makes an item of a journaled retry. A retry without an answer is repeated if the log counts attempts and shows no new one. */
function toResumed(before: Delivery, { attempts, isAccepted }: JournaledRetry): Item {
  const tries = attempts === undefined || before.attempts === undefined ? MAX_TRIES : 1
  const item: Item = { ...toItem(before), isResumed: true, attempts, tries, isUncertain: !isAccepted }
  settle(item, before)
  return item
}

/** Reads a result from a log entry. The entry shows the old failure until the retry has been made. */
function settle(item: Item, line: Delivery): void {
  const { state, attempts } = line
  if (state === 'succeeded') item.outcome = 'succeeded'
  if (state === 'failed' && attempts !== undefined && attempts > (item.attempts ?? attempts)) item.outcome = 'failed'
  if (item.outcome !== undefined) item.after = line
}

/** Returns true if the log shows that a retry was made, or is under way. */
function hasMoved({ before, attempts }: Item, line: Delivery | undefined): boolean {
  return line !== undefined && (line.state === 'pending' || line.status !== before.status || line.attempts !== attempts)
}

class Replay {
  readonly #client: Client
  readonly #options: ReplayOptions
  readonly #items: readonly Item[]
  retried = 0

  constructor(client: Client, options: ReplayOptions, items: readonly Item[]) {
    this.#client = client
    this.#options = options
    this.#items = items
  }

  async retryAll(concurrency: number): Promise<void> {
    this.#tell()
    const queue = this.#items.filter(({ isResumed }) => !isResumed) // shared: each worker takes the next
    const work = async () => {
      try {
        for (let item = queue.shift(); item !== undefined; item = queue.shift()) await this.#retry(item)
      } catch (error) {
        queue.length = 0
        throw error
      }
    }
    // Waits for all workers before it throws the first failure, so that every accepted retry is in the journal.
    const ends = await Promise.allSettled(Array.from({ length: concurrency }, work))
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
  async awaitResults(pollMs: number, waitMs: number): Promise<void> {
    const { signal } = this.#options
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

  /** Reads the log as far as needed. Returns the entries of the items that were still open. */
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
      if (!item.isUncertain || item.outcome !== undefined || hasMoved(item, seen.get(id))) continue
      // The answer to the retry was lost, and the log shows no sign of the retry.
      if (item.tries < MAX_TRIES) await this.#retry(item)
    }
    return seen
  }

  /** Ends the items that are still open. Without a count of attempts, a failed retry looks the same as the failure before it. */
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
    this.#options.onProgress?.({
      total: this.#items.length,
      retried: this.retried,
      resumed: this.#items.filter(({ isResumed }) => isResumed).length,
      refused: count('not_retriable') + count('gone'),
      succeeded: count('succeeded'),
      failed: count('failed'),
    })
  }
}
