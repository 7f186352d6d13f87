import { FUNCTION, type Kinds, OptionChecker, whole } from '../protocol/option-checker.ts'
import { show } from '../protocol/show.ts'
import { isDelay, isHasty } from './steer.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Delays before the second try, the third and so on: two days in all. */
const DELAYS_MS = [SECOND, 10 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR]
const LONGEST_DELAY_MS = 24 * HOUR
/** Jitter as a fraction of a delay, so that events that failed together are not all retried together. */
const JITTER = 0.1

/** Options of `receiver.work`. */
export interface WorkOptions {
  /** Number of events that this worker runs concurrently. Default 10; 1 to 1,000. */
  readonly concurrency?: number | undefined
  /** Number of failed tries after which an event becomes a dead letter. Default 10; 1 to 100. */
  readonly attempts?: number | undefined
  /** Returns the milliseconds before the next try after `attempt` failed ones. Default: about 1 s, 10 s, 1 min, 5 min, 30 min, 2 h, 6 h, 12 h, then 24 h each. */
  readonly delay?: ((attempt: number) => number) | undefined
}

/** Retry settings for failed events. */
export interface Retries {
  readonly concurrency: number
  readonly attempts: number
  /** True if a custom delay was probably meant in seconds. */
  readonly isHasty: boolean
  delayAfter(failures: number): number
}

/** Kinds of the options of a worker. */
export const WORK_OPTIONS: Kinds<WorkOptions> = {
  concurrency: whole(1, 1_000),
  attempts: whole(1, 100),
  delay: FUNCTION,
}

const check = new OptionChecker('receiver.work')

/** Checks the options, and that all tries, of `tryMs` at most, end while the store keeps finish marks. Throws ConfigurationErrors. */
export function checkRetries(options: WorkOptions, retentionMs: number, tryMs: number): Retries {
  check.mustFit(options, WORK_OPTIONS)
  const { concurrency = 10, attempts = 10, delay } = options
  let longestMs = attempts * tryMs
  let mostMs = 0
  for (let attempt = 1; attempt < attempts; attempt++) {
    const ms = delay === undefined ? toDefault(attempt) * (1 + JITTER) : checkDelay(delay(attempt), attempt)
    longestMs += ms
    mostMs = Math.max(mostMs, ms)
  }
  if (longestMs > retentionMs)
    throw check.invalid(
      `${attempts} tries can take ${inHours(longestMs)}, but the store forgets after ${inHours(retentionMs)} (retentionMs) which handlers have finished, so they would run again. Give the store a retentionMs of at least ${Math.ceil(longestMs)}, or fewer attempts or shorter delays here.`,
    )
  return {
    concurrency,
    attempts,
    isHasty: isHasty(mostMs),
    delayAfter: (failures) => givenBy(delay, failures) ?? vary(failures),
  }
}

function checkDelay(delayMs: unknown, attempt: number): number {
  if (isDelay(delayMs)) return delayMs
  throw check.invalid(`delay(${attempt}) returned ${show(delayMs)}; it has to return milliseconds.`)
}

/** Calls the custom `delay`. It was checked when the worker began; a failure after that must not lose an event. */
function givenBy(delay: WorkOptions['delay'], failures: number): number | undefined {
  try {
    const delayMs = delay?.(failures)
    return isDelay(delayMs) ? delayMs : undefined
  } catch {
    return undefined
  }
}

function toDefault(failures: number): number {
  return DELAYS_MS[failures - 1] ?? LONGEST_DELAY_MS
}

function vary(failures: number): number {
  return toDefault(failures) * (1 - JITTER + 2 * JITTER * Math.random())
}

function inHours(ms: number): string {
  return `${(ms / HOUR).toFixed(1)} h`
}
