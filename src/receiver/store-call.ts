import { sleep } from '../host/clock.ts'
import { PosternError } from '../protocol/errors.ts'
import { isThenable } from '../protocol/promises.ts'
import type { Shared } from './shared.ts'

/** A call of the store is given up after this many milliseconds. */
export const STORE_LIMIT_MS = 3_000
/** The time for which a result is offered to a store that does not take it. */
const KEEP_CALLING_MS = 60_000
const FIRST_DELAY_MS = 100
/** Within a second after an outage: a claim that has not ended by then is released with its marks. */
const LONGEST_DELAY_MS = 1_000

/** The result of a call that the store did not answer, or answered by a throw or by something else than it is to return. */
export class StoreFailure {
  /** Beside `state` of a claim. */
  readonly state = 'failed'
  readonly cause: unknown
  readonly #method: 'positions' | 'advance' | undefined

  /** @param method if another one failed than that of which the caller tells */
  constructor(cause: unknown, method?: 'positions' | 'advance') {
    this.cause = cause
    this.#method = method
  }

  /** Returns the error for the owner. `consequence` says what happens because of the failure. */
  toError(method: 'claim' | 'renew' | 'complete' | 'release', consequence: string): PosternError {
    const message = `store.${this.#method ?? method}() failed or did not answer in time; ${consequence}.`
    return new PosternError('store_unavailable', message, { cause: this.cause })
  }
}

/**
 * Calls the store, and waits `limitMs` at most if it answers by a promise. Never throws or rejects.
 *
 * @param check returns the answer if it is one: custom stores may be plain JavaScript
 * @param onLate takes an answer that came after the limit: the engine may have carried the call out
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
    return shared.storeTimers.waitFor(answer, limitMs, check, toFailure, onLate)
  } catch (cause) {
    return toFailure(cause)
  }
}

/** Repeats a call that the store did not answer, until it does or 60 s are over. */
export async function keepCallingStore(shared: Shared, call: () => unknown): Promise<boolean | StoreFailure> {
  const { clock } = shared.settings
  const giveUpAt = clock.monotonic() + KEEP_CALLING_MS
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(delayMs * 2, LONGEST_DELAY_MS)) {
    await sleep(clock, delayMs)
    const answer = await callStore(shared, STORE_LIMIT_MS, call, toBoolean)
    if (!(answer instanceof StoreFailure) || clock.monotonic() >= giveUpAt) return answer
  }
}

/** Checks what `renew`, `complete` and `release` return. */
export function toBoolean(answer: unknown): boolean | StoreFailure {
  return typeof answer === 'boolean' ? answer : new StoreFailure(new TypeError('it returned neither true nor false'))
}

const toFailure = (cause: unknown) => (cause instanceof StoreFailure ? cause : new StoreFailure(cause))
