import { type IQueueBackend, RedisQueueBackend } from 'bullmq'
import { ask } from './durability.ts'

/**
 * A full Redis accepts nothing more and hands out nothing either, since a worker writes when it takes a job. This share of memory stays
 * free for workers.
 */
const FULL = 0.95
/** The time between two queries of the memory in use, in milliseconds. */
const LOOK_EVERY_MS = 500
/** The memory that a job takes in addition to its body, in bytes. */
const JOB_BYTES = 2_000

/** Refuses items that would fill up Redis. */
export class Room {
  #lookedAt = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined
  /** The bytes that may still be added, as far as this process knows. */
  #left = Number.POSITIVE_INFINITY

  /** @throws Error if there is no room for so many bytes */
  async take(backend: IQueueBackend, bytes: number): Promise<void> {
    if (!(backend instanceof RedisQueueBackend)) return
    const now = performance.now()
    if (now - this.#lookedAt >= LOOK_EVERY_MS) {
      const isFirst = this.#lookedAt === Number.NEGATIVE_INFINITY
      this.#lookedAt = now
      this.#looking = this.#look(backend)
      if (isFirst || this.#left < 0) await this.#looking
    }
    this.#left -= 2 * bytes + JOB_BYTES
    if (this.#left < 0)
      throw new Error(
        'Redis is nearly full (maxmemory). The rest of its memory is kept for the workers, which free memory by handling events.',
      )
  }

  async #look(backend: RedisQueueBackend): Promise<void> {
    const info = String(await ask(backend, 'INFO', 'memory'))
    const read = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0)
    const most = read('maxmemory')
    this.#left = most === 0 ? Number.POSITIVE_INFINITY : most * FULL - read('used_memory')
  }
}
