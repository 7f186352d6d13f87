import type { RedisQueueBackend } from 'bullmq'
import { systemClock } from '../../../src/engine.ts'
import { ask } from './durability.ts'

/** Redis is asked for its time again after this time, in milliseconds. */
const VALID_MS = 10_000
/** A slower answer does not replace an earlier one, in milliseconds. */
const SLOW_MS = 500
/** The longest time for which the time stands still, in milliseconds: two measurements differ by less. */
const MOST_STANDSTILL_MS = 1_000
/** The scripts that BullMQ passes the time of the process. The others get theirs from the inbox. */
const TIMED = new Set(['moveToActive', 'moveToFinished', 'moveStalledJobsToWait'])
/** The most by which the time in a script's arguments is older, in milliseconds. */
const MOST_AGE_MS = 1_000

export type RedisTime = ReturnType<typeof createRedisTime>

/**
 * Returns Redis' time: clocks of processes may be wrong, and each plans delays that others end. All connections of an inbox share it, since
 * each measurement differs by milliseconds, and what one connection made due must be due for the others.
 */
export function createRedisTime() {
  /** Redis' time less the monotonic one. */
  let offset: number | undefined
  let reading: Promise<void> | undefined
  let readAt = Number.NEGATIVE_INFINITY
  /** The time that was returned last. */
  let latest = 0
  /** In milliseconds since 1970; the time of the process if Redis does not tell. */
  const now = () => {
    if (offset === undefined) return Date.now()
    const measured = Math.round(systemClock.monotonic() + offset)
    // A measurement does not set the time back: it stands still. The clock of another server may be behind by more.
    const isBehind = measured < latest && measured > latest - MOST_STANDSTILL_MS
    if (!isBehind) latest = measured
    return latest
  }
  const measure = async (backend: RedisQueueBackend, sentAt: number) => {
    const answer = await ask(backend, 'TIME')
    const tookMs = systemClock.monotonic() - sentAt
    if (!Array.isArray(answer) || (offset !== undefined && tookMs > SLOW_MS)) return
    const [seconds, microseconds] = answer.map(Number)
    offset = Number(seconds) * 1_000 + Number(microseconds) / 1_000 - sentAt - tookMs / 2
  }
  return {
    now,
    /** Asks for the time, unless that was a moment ago. Waits for the first answer only. */
    async read(backend: RedisQueueBackend): Promise<void> {
      const sentAt = systemClock.monotonic()
      if (sentAt - readAt >= VALID_MS) {
        readAt = sentAt
        reading = measure(backend, sentAt)
      }
      if (offset === undefined) await reading
    },
    /** Replaces the time of the process in what BullMQ sends. */
    correct(backend: RedisQueueBackend): void {
      const send = backend.execCommand.bind(backend)
      const isNow = (value: unknown) => typeof value === 'number' && Math.abs(Date.now() - value) < MOST_AGE_MS
      backend.execCommand = (client, name, given: readonly unknown[]) =>
        send(client, name, TIMED.has(name) ? given.map((value) => (isNow(value) ? now() : value)) : [...given])
    },
  }
}
