import { setTimeoutAt, sleep } from '../host/clock.ts'
import { waitFor } from '../host/wait-for.ts'
import { PosternError } from '../protocol/errors.ts'
import { isThenable } from '../protocol/promises.ts'
import { STORE_LIMIT_MS } from '../protocol/schedule.ts'
import type { Position } from '../store/store.ts'
import type { TransactionClaim } from '../store/transactional-store.ts'
import { toSelf } from './neighbours.ts'
import type { Order } from './order.ts'
import type { Shared } from './shared.ts'

/** Time for which a failed call is retried, in milliseconds. */
const KEEP_CALLING_MS = 60_000
const FIRST_DELAY_MS = 100
/** Longest delay between retries: after an outage, the claim is released within a second. */
const LONGEST_DELAY_MS = 1_000
/** Names of handlers that a store keeps with a done event. */
export const MOST_NAMES = 16
/** Delay before a failed renewal is retried, in milliseconds. */
const RENEW_AGAIN_MS = 500

/** A claim that this process holds: renewed while needed, then completed, released, or left to expire. */
export class Lease {
  /** When the claim expires if the last renewal took effect and no other follows, on the monotonic clock. */
  endsAt: number
  readonly #shared: Shared
  readonly #key: string
  readonly #token: string
  readonly #askedAt: number
  readonly #order: Order | undefined
  #timer: unknown
  #isStopped = false
  #renewal: Promise<boolean | undefined> | undefined
  #isFailing = false
  #hasNews = false
  #wake: (() => void) | undefined

  /** @param askedAt time of the call of `claim`: the lease cannot have begun before */
  constructor(shared: Shared, key: string, token: string, askedAt: number, order?: Order) {
    this.#shared = shared
    this.#key = key
    this.#token = token
    this.#askedAt = askedAt
    this.#order = order
    this.endsAt = askedAt + shared.settings.leaseMs
  }

  /**
   * Renews the claim after each third of its time until `stop`, and sooner after a failure: a claim of 15 s survives an outage of 10 s.
   *
   * @param marksNow returns the names of the handlers that have finished
   * @param onLost is called once if another process has taken the event
   */
  startRenewing(marksNow: () => readonly string[], onLost: () => void): void {
    if (this.#timer === undefined) void this.#keepRenewing(marksNow, onLost)
  }

  stop(): void {
    this.#isStopped = true
    if (this.#timer !== undefined) this.#shared.settings.clock.clearTimeout(this.#timer)
  }

  /** Renews immediately if handlers have an order, to store the position of one that has finished: an older event of the record may come. */
  renewNow(): void {
    if (this.#order === undefined) return
    this.#hasNews = true
    this.#wake?.()
  }

  /** Marks the event as done. Returns false if another process has taken it. */
  complete(marks: readonly string[]): boolean | StoreFailure | Promise<boolean | StoreFailure> {
    return callStore(this.#shared, STORE_LIMIT_MS, () => this.#callComplete(marks), toBoolean)
  }

  /** Retries `complete` for 60 s. */
  keepCompleting(marks: readonly string[]): Promise<boolean | StoreFailure> {
    return keepCallingStore(this.#shared, () => this.#callComplete(marks))
  }

  /**
   * Releases the claim, and stores the marks of the handlers that finished. If that fails it is retried, since without the marks these handlers
   * would run again. Resolves with whether the claim was still held, and a promise of the retries.
   */
  async release(
    marks: readonly string[],
  ): Promise<{ readonly isHeld: boolean; readonly goesOn?: Promise<void> | undefined }> {
    const { activity, reporter, settings } = this.#shared
    this.stop()
    activity.begin() // for `close`: nothing else waits for the release of a claim that came too late
    // A renewal that takes effect after the release would revive the claim.
    await this.#renewal
    const release = () => settings.store.release(this.#key, this.#token, marks, ...this.#positionsOf(marks))
    const answer = await callStore(this.#shared, STORE_LIMIT_MS, release, toBoolean)
    let goesOn: Promise<void> | undefined
    if (answer instanceof StoreFailure) {
      reporter.error(answer.toError('release', 'it is retried for 60 s, and the lease ends by itself'))
      goesOn = this.#retryMarks('release', release)
    }
    activity.end()
    return { isHeld: answer !== false, goesOn }
  }

  /** Stores the marks so far, and leaves the claim to expire at its time. Retried like a release. */
  async abandon(marks: readonly string[]): Promise<void> {
    this.stop()
    if (marks.length === 0) return
    const { activity, settings } = this.#shared
    activity.begin()
    await this.#renewal
    const leftMs = () => Math.max(Math.ceil(this.endsAt - settings.clock.monotonic()), 1)
    const renew = () => this.#callRenew(leftMs(), marks)
    if ((await this.#renew(renew)) === undefined) await this.#retryMarks('renew', renew)
    activity.end()
  }

  /** Returns the claim that fences the transaction of a handler. */
  toTransactionClaim(mark: string, signal: AbortSignal, position: Position | undefined): TransactionClaim {
    return { key: this.#key, token: this.#token, mark, signal, ...(position && { position }) }
  }

  #callComplete(marks: readonly string[]): boolean | Promise<boolean> {
    const [positions] = this.#positionsOf(marks)
    return this.#shared.settings.store.complete(this.#key, this.#token, positions, toDoneBy(this.#shared, marks))
  }

  #callRenew(leaseMs: number, marks: readonly string[]): boolean | Promise<boolean> {
    return this.#shared.settings.store.renew(this.#key, this.#token, leaseMs, marks, ...this.#positionsOf(marks))
  }

  /** Returns the last argument of the store's methods, if handlers have an order. */
  #positionsOf(marks: readonly string[]): readonly [] | readonly [readonly Position[]] {
    return this.#order === undefined ? NONE : [this.#order.positionsOf(marks)]
  }

  async #keepRenewing(marksNow: () => readonly string[], onLost: () => void): Promise<void> {
    const { clock, leaseMs } = this.#shared.settings
    let heldUntil = this.endsAt
    await this.#pauseUntil(this.#askedAt + leaseMs / 3)
    while (!this.#isStopped) {
      this.#hasNews = false
      const startedAt = clock.monotonic()
      this.endsAt = startedAt + leaseMs
      const marks = marksNow()
      this.#renewal = this.#renew(() => this.#callRenew(leaseMs, marks))
      const isHeld = await this.#renewal
      this.#renewal = undefined
      if (this.#isStopped) return
      if (isHeld === false) {
        this.stop()
        return onLost()
      }
      if (isHeld) heldUntil = this.endsAt
      // Once the claim has expired, frequent retries would only load an engine that is recovering.
      const isUrgent = !isHeld && clock.monotonic() < heldUntil
      const waitMs = isUrgent ? Math.min(RENEW_AGAIN_MS, leaseMs / 10) : leaseMs / 3
      await this.#pauseUntil(startedAt + waitMs)
    }
  }

  async #pauseUntil(at: number): Promise<void> {
    const { clock } = this.#shared.settings
    await new Promise<void>((resolve) => {
      this.#timer = setTimeoutAt(clock, at, resolve)
      this.#wake = resolve
      if (this.#hasNews) resolve()
    })
    if (this.#timer !== undefined) clock.clearTimeout(this.#timer)
  }

  /** Returns whether the claim is still held; undefined if the store failed. Reports the first failure in a row. */
  async #renew(call: () => boolean | Promise<boolean>): Promise<boolean | undefined> {
    const { reporter, activity } = this.#shared
    activity.begin()
    const answer = await callStore(this.#shared, STORE_LIMIT_MS, call, toBoolean)
    activity.end()
    const wasFailing = this.#isFailing
    this.#isFailing = answer instanceof StoreFailure
    if (!(answer instanceof StoreFailure)) return answer
    if (!wasFailing) reporter.error(answer.toError('renew', 'it is retried while the claim is needed'))
    return undefined
  }

  /** Retries a call that stores marks for 60 s. */
  async #retryMarks(method: 'renew' | 'release', call: () => boolean | Promise<boolean>): Promise<void> {
    const { activity, reporter } = this.#shared
    activity.begin()
    this.#shared.untakenMarks++
    const answer = await keepCallingStore(this.#shared, call)
    this.#shared.untakenMarks--
    if (answer instanceof StoreFailure)
      reporter.error(answer.toError(method, 'that was the last try, and handlers that had finished may run again'))
    activity.end()
  }
}

const NONE = [] as const

/** Returns what a store keeps with a done event: which receiver of which process handled it, and handlers that finished. */
function toDoneBy(shared: Shared, marks: readonly string[]): readonly string[] {
  return [toSelf(shared), ...marks.slice(0, MOST_NAMES)]
}

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
async function keepCallingStore(shared: Shared, call: () => unknown): Promise<boolean | StoreFailure> {
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
