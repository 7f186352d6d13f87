import { sleep } from '../host/clock.ts'
import { PosternError } from '../protocol/errors.ts'
import { isThenable } from '../protocol/is-thenable.ts'
import type { Shared } from './shared.ts'

/** A call of the store is given up after this many milliseconds. */
export const STORE_LIMIT_MS = 3_000
/** The time for which a result is offered to a store that does not take it, and the pauses in between. */
const KEEP_CALLING_MS = 60_000
const FIRST_DELAY_MS = 100
/** Within a second after an outage: a claim that has not ended by then is released with its marks. */
const LONGEST_DELAY_MS = 1_000

/** The result of a call that the store did not answer. */
export class StoreFailure {
  /** Beside the states of a claim. */
  readonly state = 'failed'
  readonly cause: unknown

  constructor(cause: unknown) {
    this.cause = cause
  }

  /** Returns the error for the owner. `consequence` says what happens because of the failure. */
  toError(method: 'claim' | 'renew' | 'complete' | 'release', consequence: string): PosternError {
    const message = `store.${method}() failed or did not answer in time; ${consequence}.`
    return new PosternError('store_unavailable', message, { cause: this.cause })
  }
}

/**
 * Calls the store, and waits `limitMs` at most if it answers by a promise. Never throws or rejects.
 *
 * @param onLate takes an answer that came after the limit: the engine may have carried the call out
 */
export function callStore<T>(
  shared: Shared,
  limitMs: number,
  call: () => T | PromiseLike<T>,
  onLate?: (answer: T) => void,
): T | StoreFailure | Promise<T | StoreFailure> {
  try {
    const answer = call()
    if (!isThenable(answer)) return answer
    return shared.storeTimers.waitFor<T, T | StoreFailure>(answer, limitMs, toAnswer, toFailure, onLate)
  } catch (cause) {
    return new StoreFailure(cause)
  }
}

/** Repeats a call that the store did not answer, until it does or 60 s are over. */
export async function keepCallingStore<T>(shared: Shared, call: () => T | PromiseLike<T>): Promise<T | StoreFailure> {
  const { clock } = shared.settings
  const giveUpAt = clock.monotonic() + KEEP_CALLING_MS
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(delayMs * 2, LONGEST_DELAY_MS)) {
    await sleep(clock, delayMs)
    const answer = await callStore(shared, STORE_LIMIT_MS, call)
    if (!(answer instanceof StoreFailure) || clock.monotonic() >= giveUpAt) return answer
  }
}

const toAnswer = <T>(answer: T) => answer
const toFailure = (cause: unknown) => new StoreFailure(cause)
