import type { RedisQueueBackend } from 'bullmq'
import { systemClock } from '../../../src/engine.ts'
import { ask } from './durability.ts'

/** Redis is asked for its time again after this time, in milliseconds. */
const VALID_MS = 10_000
/** A slower answer does not replace an earlier one, in milliseconds. */
const SLOW_MS = 500
/** A known time that is wrong by this much at most is not replaced by a better one, in milliseconds. */
const GOOD_MS = 5
/** The scripts that BullMQ passes the time of the process. The others get theirs from the inbox. */
const TIMED = new Set(['moveToActive', 'moveToFinished', 'moveStalledJobsToWait'])
/** The most by which the time in a script's arguments is older, in milliseconds. */
const MOST_AGE_MS = 1_000

/** Redis' time: clocks of processes may be wrong, and each plans delays that others end. */
export class RedisTime {
  /** Redis' time less the monotonic one. */
  #offset: number | undefined
  /** The most by which that is wrong. */
  #error = 0
  #readAt = Number.NEGATIVE_INFINITY

  /** In milliseconds since 1970; the time of the process if Redis does not tell. */
  now(): number {
    return this.#offset === undefined ? Date.now() : Math.round(systemClock.monotonic() + this.#offset)
  }

  /** Asks for the time, unless that was a moment ago. */
  async read(backend: RedisQueueBackend): Promise<void> {
    const sentAt = systemClock.monotonic()
    if (sentAt - this.#readAt < VALID_MS) return
    this.#readAt = sentAt
    const answer = await ask(backend, 'TIME')
    const tookMs = systemClock.monotonic() - sentAt
    if (!Array.isArray(answer) || (this.#offset !== undefined && tookMs > SLOW_MS)) return
    const [seconds, microseconds] = answer.map(Number)
    const error = tookMs / 2
    const offset = Number(seconds) * 1_000 + Number(microseconds) / 1_000 - sentAt - error
    // Within the errors of both, nothing has changed, and the time must not go back: what is due would not be.
    const isSame = this.#offset !== undefined && Math.abs(offset - this.#offset) <= error + this.#error
    if (isSame && this.#error <= 2 * error + GOOD_MS) return
    this.#offset = offset
    this.#error = error
  }

  /** Replaces the time of the process in what BullMQ sends. */
  correct(backend: RedisQueueBackend): void {
    const send = backend.execCommand.bind(backend)
    const isNow = (value: unknown) => typeof value === 'number' && Math.abs(Date.now() - value) < MOST_AGE_MS
    backend.execCommand = (client, name, given: readonly unknown[]) =>
      send(client, name, TIMED.has(name) ? given.map((value) => (isNow(value) ? this.now() : value)) : [...given])
  }
}
