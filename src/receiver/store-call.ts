import { sleep } from '../host/clock.ts'
import { waitFor } from '../host/wait-for.ts'
import { PosternError } from '../protocol/errors.ts'
import { isThenable } from '../protocol/promises.ts'
import { STORE_LIMIT_MS } from '../protocol/schedule.ts'
import type { Shared } from './shared.ts'

/** Time for which a failed call is retried, in milliseconds. */
const KEEP_CALLING_MS = 60_000
const FIRST_DELAY_MS = 100
/** Short, so that a claim is released with its marks within a second after an outage. */
const LONGEST_DELAY_MS = 1_000

/** Result of a store call that threw, timed out, or returned an invalid value. */
export class StoreFailure {
  /** Distinguishes it from a claim. */
  readonly state = 'failed'
  readonly cause: unknown

  constructor(cause: unknown) {
    this.cause = cause
  }

  /** @param consequence what happens because of the failure */
  toError(method: 'claim' | 'renew' | 'complete' | 'release', consequence: string): PosternError {
    const message = `store.${method}() failed or did not answer in time; ${consequence}.`
    return new PosternError('store_unavailable', message, { cause: this.cause })
  }
}

/**
 * Calls the store, and waits at most `limitMs` for a promise. Never throws or rejects.
 *
 * @param check validates the answer: custom stores may be plain JavaScript
 * @param onLate gets an answer that came after the limit: the call may have taken effect
 */
export function callStore<T>(
  shared: Shared,
  limitMs: number,
  call: () => unknown,
  check: (answer: unknown) => T | StoreFailure,
  onLate?: (answer: unknown) => void,
): T | StoreFailure | Promise<T | StoreFailure> {
  try {
    const answer = call()
    if (!isThenable(answer)) return check(answer)
    return waitFor(shared.settings.clock, answer, limitMs, check, toFailure, onLate)
  } catch (cause) {
    return toFailure(cause)
  }
}

/** Repeats a failed call until the store answers, or for 60 s. */
export async function keepCallingStore(shared: Shared, call: () => unknown): Promise<boolean | StoreFailure> {
  const { clock } = shared.settings
  const giveUpAt = clock.monotonic() + KEEP_CALLING_MS
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(delayMs * 2, LONGEST_DELAY_MS)) {
    await sleep(clock, delayMs)
    const answer = await callStore(shared, STORE_LIMIT_MS, call, toBoolean)
    if (!(answer instanceof StoreFailure) || clock.monotonic() >= giveUpAt) return answer
  }
}

/** Validates the result of `renew`, `complete` and `release`. */
export function toBoolean(answer: unknown): boolean | StoreFailure {
  return typeof answer === 'boolean' ? answer : new StoreFailure(new TypeError('it returned neither true nor false'))
}

const toFailure = (cause: unknown) => new StoreFailure(cause)
