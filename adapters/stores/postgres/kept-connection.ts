import { systemClock } from '../../../src/engine.ts'
import type { CheckedOut, PgClient } from './pool.ts'

const LOOK_EVERY_MS = 500
/** Longer than the time between two renewals, which is a third of 25 s at most. */
const KEEP_IDLE_MS = 10_000

/** A connection that is kept while events are handled: handlers that use up the pool cannot starve renewals. */
export class KeptConnection {
  readonly #checkOut: (onError: () => void) => Promise<CheckedOut>
  readonly #isEnding: () => boolean
  #kept: Promise<CheckedOut> | undefined
  #uses = 0
  #lastUse = 0
  #answeredAt = 0
  #timer: NodeJS.Timeout | undefined

  constructor(checkOut: (onError: () => void) => Promise<CheckedOut>, isEnding: () => boolean) {
    this.#checkOut = checkOut
    this.#isEnding = isEnding
  }

  /** Checks the connection out, unless it already is. */
  hold(): Promise<CheckedOut> {
    this.#lastUse = systemClock.monotonic()
    if (this.#kept === undefined) {
      const kept = this.#checkOut(() => this.#close(kept))
      this.#kept = kept
      kept.catch(() => this.#forget(kept))
      this.#look()
    }
    return this.#kept
  }

  /** Runs a function on the connection. After a failure the next use gets a new one. */
  async use<T>(what: (client: PgClient) => Promise<T>): Promise<T> {
    const kept = this.hold()
    const { client } = await kept
    this.#uses++
    try {
      const value = await what(client)
      this.#answeredAt = systemClock.monotonic()
      this.#lastUse = this.#answeredAt
      return value
    } catch (error) {
      this.#close(kept)
      throw error
    } finally {
      this.#uses--
    }
  }

  /** Closes the connection if it has answered nothing since then and is not in use. */
  dropIdle(since: number): void {
    if (this.#kept !== undefined && this.#uses === 0 && this.#answeredAt <= since) this.#close(this.#kept)
  }

  #close(kept: Promise<CheckedOut>): void {
    this.#forget(kept)
    kept.then(({ giveBack }) => giveBack(false), ignore)
  }

  #forget(kept: Promise<CheckedOut>): void {
    if (this.#kept === kept) this.#kept = undefined
  }

  #look(): void {
    this.#timer ??= setInterval(() => {
      const isIdle = systemClock.monotonic() - this.#lastUse > KEEP_IDLE_MS
      if (this.#uses > 0 || !(isIdle || this.#isEnding())) return
      clearInterval(this.#timer)
      this.#timer = undefined
      const kept = this.#kept
      this.#kept = undefined
      kept?.then(({ giveBack }) => giveBack(true), ignore)
    }, LOOK_EVERY_MS).unref()
  }
}

const ignore = () => {}
