import { readDevToken } from '../host/dev-token.ts'
import { HandlerError, type PosternError } from '../protocol/errors.ts'
import { explainRejection, nameError, thrownIn, writeStack } from '../protocol/failure.ts'
import { codeOf, type Outcome } from '../protocol/outcome.ts'
import type { InboxTry, Settlement, TakenItem } from './inbox.ts'
import type { Retries } from './retries.ts'
import { steeringOf } from './steer.ts'

/** Delay before the next try if the store is away, in milliseconds. */
const SOON_MS = 5_000
/** Number of processes that may die while they run an item and nothing else. */
export const MOST_DEATHS = 3
/** The others of its lane wait for an event whose next try is at most this far away, in milliseconds: by default the second to fourth try. */
const LONGEST_HOLD_MS = 90_000
/** Minimum delay of an event that its handler puts off, in milliseconds: a handler may do so for ever. */
const LEAST_DELAY_MS = 100
const LONGEST_ERROR = 1_000

/** Result of one try. */
export interface Tried {
  readonly outcome: Outcome
  /** Names of the handlers that have finished. */
  readonly marks: readonly string[]
  /** Errors of the try. `onError` got each of them; the log gets one line about the try. */
  readonly errors?: readonly PosternError[]
}

/** Settings for the rules. Times in milliseconds. */
export interface Rules {
  readonly retries: Retries
  readonly leaseMs: number
  /** Time for which the store keeps finish marks. */
  readonly retentionMs: number
}

/** Decides the next state of an item after a try: all rules of the inbox are here. */
export function toSettlement(
  item: TakenItem,
  { outcome, marks }: Tried,
  startedAt: number,
  now: number,
  rules: Rules,
): Settlement {
  const code = outcome.outcome === 'ignored' ? 'no_handlers' : codeOf(outcome)
  const tried = toTry(item, startedAt, now, code, outcome)
  const wait = (afterMs: number, isFailure: boolean) =>
    ({ next: 'wait', afterMs, isFailure, tried, ...(afterMs > LONGEST_HOLD_MS && { leavesLane: true }) }) as const
  const comeAgain = (afterMs: number): Settlement => ({ ...wait(afterMs, false), isUnproven: true })
  const comeAgainIdle = (afterMs: number): Settlement => ({
    ...wait(afterMs, false),
    isUnproven: true,
    tried: goOn(item, tried),
  })
  const bury = (code: string, also = {}): Settlement => ({ next: 'bury', marks, tried: { ...tried, code, ...also } })

  if (outcome.outcome === 'handled' || outcome.outcome === 'duplicate') return { next: 'remove' }
  if (item.signal.aborted || outcome.outcome === 'closing') return comeAgain(0)
  if (outcome.outcome === 'busy') return comeAgainIdle(rules.leaseMs)
  if (outcome.outcome === 'failed' && outcome.code === 'store_unavailable') return comeAgainIdle(SOON_MS)
  if (outcome.outcome === 'failed' && outcome.code === 'lease_lost') return comeAgain(rules.leaseMs)

  if (item.deaths >= MOST_DEATHS)
    return bury('crashed', { error: `${item.deaths} processes died while they ran it and nothing else` })
  const hasThrown = outcome.outcome === 'failed' && outcome.code === 'handler_failed'
  const steering = hasThrown ? steeringOf(thrownIn(outcome.error)) : undefined
  if (steering === 'bury') return bury('dead_letter')
  if (steering !== undefined)
    return now + steering.afterMs > item.since + rules.retentionMs
      ? bury('expired')
      : wait(Math.max(steering.afterMs, LEAST_DELAY_MS), false)
  const failures = item.failures + 1
  return failures >= rules.retries.attempts ? bury(tried.code) : wait(rules.retries.delayAfter(failures), true)
}

/** Returns a try that ran nothing as the rest of the one before, if that was of its kind: hours of such tries must not push out those that tell why. */
export function goOn({ tries }: TakenItem, tried: InboxTry): InboxTry {
  const last = tries.at(-1)
  if (last?.code !== tried.code) return tried
  const { n, dueAt, startedAt } = last
  return { ...tried, n, dueAt, startedAt }
}

function toTry(item: TakenItem, startedAt: number, endedAt: number, code: string, outcome: Outcome): InboxTry {
  const n = (item.tries.at(-1)?.n ?? 0) + 1
  const error = errorOf(outcome)
  const handlers = 'error' in outcome && outcome.error instanceof HandlerError ? outcome.error.handlers : []
  const why = { ...(handlers.length > 0 && { handlers }), ...(error && { error: error.slice(0, LONGEST_ERROR) }) }
  return { n, dueAt: item.dueAt, startedAt, endedAt, code, ...why, worker: item.worker }
}

function errorOf(outcome: Outcome): string | undefined {
  if (outcome.outcome === 'ignored') return 'no handler of this worker takes events of this type'
  if (outcome.outcome === 'rejected') return explainRejection(outcome)
  if (!('error' in outcome)) return undefined
  const write = readDevToken() === undefined ? nameError : writeStack
  const thrown = thrownIn(outcome.error).map(write)
  const isByHandlers = outcome.error instanceof HandlerError && thrown.length > 0
  return (isByHandlers ? thrown : [outcome.error.message, ...thrown]).join(' ')
}
