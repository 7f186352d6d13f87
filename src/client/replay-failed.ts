import { sleep } from '../host/clock.ts'
import {
  FILLED_TEXT,
  FLAG,
  FUNCTION,
  type Kinds,
  number,
  OptionChecker,
  PREDICATE,
  SIGNAL,
  whole,
  withMethods,
} from '../protocol/option-checker.ts'
import type { CallOptions, Client } from './api.ts'
import type { Delivery } from './records.ts'
import { type JournalLine, type ReplayJournal, readJournal } from './replay-journal.ts'
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
  after?: Delivery | undefined
  outcome?: ReplayOutcome
  tries: number
  /** True if the answer to the last retry is lost: the log shows if it was made. */
  isUncertain: boolean
}

const check = new OptionChecker('replayFailed')
/** The year 5138 in seconds, and 1973 in milliseconds, before which the service has no deliveries. */
const LATEST_IN_SECONDS = 100_000_000_000
const COUNT = whole(0, Number.MAX_SAFE_INTEGER)
const OPTIONS: Kinds<ReplayOptions> = {
  webhookId: FILLED_TEXT,
  since(value) {
    const ms: unknown = Object(value).getTime?.()
    if (typeof ms !== 'number' || Number.isNaN(ms)) return 'a valid Date'
    return ms > 0 && ms < LATEST_IN_SECONDS ? 'a Date of milliseconds: new Date(seconds * 1_000)' : undefined
  },
  filter: PREDICATE,
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
  const { webhookId, filter, limit = Number.POSITIVE_INFINITY, signal, journal, dryRun } = options
  const earlier = await readJournal(journal, webhookId)
  // A caller who computes it from a duration passes a later time than in the first run.
  const since = earlier.since === undefined ? options.since : (earlier.since ?? undefined)
  const log = await readLog(client, webhookId, since, signal)
  const isInTime = ({ createdAt }: Delivery) => since === undefined || createdAt === undefined || createdAt >= since
  const isMeant = (delivery: Delivery) => filter === undefined || check.mustAnswer('filter', filter(delivery))
  const plan = planReplay(
    log,
    (delivery) => isInTime(delivery) && isMeant(delivery),
    ({ id }) => earlier.retries.has(id),
  )
  const resumed = log.flatMap((delivery) => {
    const retry = earlier.retries.get(delivery.id)
    return retry === undefined ? [] : [toResumed(delivery, retry)]
  })
  const fresh = plan.toRetry.slice(0, Math.max(limit - resumed.length, 0)).map(toItem)
  if (!dryRun && earlier.since === undefined) await journal?.append(JSON.stringify({ webhookId, since: since ?? null }))
  const items = [...resumed, ...fresh]
  const retried = dryRun ? 0 : await retryAll(client, options, items)
  return {
    events: items.map(({ before, isResumed, after, outcome }) => ({
      delivery: before,
      after,
      outcome: outcome ?? (dryRun && !isResumed ? 'planned' : 'unresolved'),
    })),
    retried,
    resumed: resumed.length,
    skipped: plan.skipped,
    since,
  }
}

function toItem(before: Delivery): Item {
  return { before, isResumed: false, attempts: before.attempts, tries: 0, isUncertain: false }
}

/** Makes an item of a journaled retry. A retry without an answer is repeated if the log counts attempts and shows no new one. */
function toResumed(before: Delivery, { attempts, step }: JournalLine): Item {
  const tries = attempts === undefined ? MAX_TRIES : 1
  const item: Item = { before, isResumed: true, attempts, tries, isUncertain: step === 'asked' }
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

/** Retries the items that are not resumed, and waits for all results. Returns the number of retries that the service accepted. */
async function retryAll(client: Client, options: ReplayOptions, items: readonly Item[]): Promise<number> {
  const { webhookId, journal, signal, onProgress, concurrency = 2, pollMs = 1_000, waitMs = 60_000 } = options
  const { clock } = client
  let retried = 0
  const tell = () => {
    const count = (...wanted: ReplayOutcome[]) =>
      items.filter(({ outcome }) => outcome && wanted.includes(outcome)).length
    onProgress?.({
      total: items.length,
      retried,
      resumed: items.filter(({ isResumed }) => isResumed).length,
      refused: count('not_retriable', 'gone'),
      succeeded: count('succeeded'),
      failed: count('failed'),
    })
  }
  const retry = async (item: Item) => {
    const { id, eventId, attempts } = item.before
    const note = async (step: JournalLine['step']) =>
      journal?.append(JSON.stringify({ webhookId, deliveryId: id, eventId, attempts, step }))
    item.tries++
    await note('asked')
    try {
      const { delivery } = await client.retry(webhookId, id, { signal })
      retried++
      item.isUncertain = false
      await note('accepted')
      if (delivery?.state === 'succeeded') settle(item, delivery)
    } catch (error) {
      if (hasCode(error, 'not_retriable')) item.outcome = 'not_retriable'
      else if (hasCode(error, 'not_found')) item.outcome = 'gone'
      else if (hasCode(error, 'outcome_unknown')) item.isUncertain = true
      else throw error
    }
    tell()
  }
  tell()
  await runAll(
    items.filter(({ isResumed }) => !isResumed),
    concurrency,
    retry,
  )
  const findOpen = () => items.filter(({ outcome }) => outcome === undefined)
  let lastResultAt = clock.monotonic()
  for (let pause = pollMs; ; pause = Math.min(pause * 1.5, pollMs * 10)) {
    const open = findOpen()
    if (open.length === 0) return retried
    const seen = await look(client, webhookId, open, signal)
    // The answer to the retry was lost, and the log shows no sign of the retry.
    for (const item of findOpen())
      if (item.isUncertain && item.tries < MAX_TRIES && !hasMoved(item, seen.get(item.before.id))) await retry(item)
    if (findOpen().length < open.length) lastResultAt = clock.monotonic()
    const isOver = clock.monotonic() - lastResultAt >= waitMs
    if (isOver) giveUp(findOpen(), seen)
    tell()
    if (isOver || findOpen().length === 0) return retried
    await sleep(clock, pause, signal)
  }
}

/** Runs work on all items, and waits for what runs before it rejects, so that every accepted retry is in the journal. */
async function runAll<T>(items: readonly T[], concurrency: number, run: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items]
  const work = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await run(item)
  }
  const workers = Array.from({ length: concurrency }, () =>
    work().finally(() => {
      queue.length = 0 // it is empty, or the work has failed
    }),
  )
  await Promise.allSettled(workers)
  await Promise.all(workers)
}

/** Reads the log as far as needed. Returns the entries of the items. */
async function look(client: Client, webhookId: string, items: readonly Item[], signal: AbortSignal | undefined) {
  const wanted = new Map(items.map((item) => [item.before.id, item]))
  const seen = new Map<string, Delivery>()
  for await (const delivery of client.deliveries(webhookId, { signal })) {
    const item = wanted.get(delivery.id)
    if (item === undefined) continue
    settle(item, delivery)
    seen.set(delivery.id, delivery)
    if (seen.size === items.length) break
  }
  return seen
}

/** Ends the items that are still open. Without a count of attempts, a failed retry looks the same as the failure before it. */
function giveUp(items: readonly Item[], seen: ReadonlyMap<string, Delivery>): void {
  for (const item of items) {
    item.after = seen.get(item.before.id)
    item.outcome = item.after?.state === 'failed' && !item.isUncertain ? 'failed' : 'unresolved'
  }
}
