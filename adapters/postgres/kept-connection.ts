import { type CheckedOut, checkOut, type PgClient, type PgPool } from './pool.ts'

const LOOK_EVERY_MS = 500
/** Longer than the time between two renewals, which is a third of 25 s at most. */
const KEEP_IDLE_MS = 10_000

/**
 * One connection of the pool that is kept while events are handled, so that handlers that use up the others cannot starve renewals.
 * It goes back when nothing was done for a while, and at once when the pool is to end.
 */
export class KeptConnection {
  readonly #pool: PgPool
  #kept: Promise<CheckedOut> | undefined
  #uses = 0
  #lastUse = 0
  #timer: NodeJS.Timeout | undefined

  constructor(pool: PgPool) {
    this.#pool = pool
  }

  /** Checks the connection out, if it is not. */
  hold(): Promise<CheckedOut> {
    this.#lastUse = performance.now()
    if (this.#kept === undefined) {
      const onError = () => {
        this.#forget(kept)
        kept.then(({ giveBack }) => giveBack(false), ignore)
      }
      const kept = checkOut(this.#pool, undefined, onError)
      this.#kept = kept
      kept.catch(() => this.#forget(kept))
      this.#look()
    }
    return this.#kept
  }

  /** Does something on it. After a failure the next use gets a new one. */
  async use<T>(what: (client: PgClient) => Promise<T>): Promise<T> {
    const kept = this.hold()
    const { client, giveBack } = await kept
    this.#uses++
    try {
      return await what(client)
    } catch (error) {
      this.#forget(kept)
      giveBack(false)
      throw error
    } finally {
      this.#uses--
      this.#lastUse = performance.now()
    }
  }

  #forget(kept: Promise<CheckedOut>): void {
    if (this.#kept === kept) this.#kept = undefined
  }

  #look(): void {
    this.#timer ??= setInterval(() => {
      const isIdle = performance.now() - this.#lastUse > KEEP_IDLE_MS
      if (this.#uses > 0 || !(isIdle || this.#pool.ending)) return
      clearInterval(this.#timer)
      this.#timer = undefined
      const kept = this.#kept
      this.#kept = undefined
      kept?.then(({ giveBack }) => giveBack(true), ignore)
    }, LOOK_EVERY_MS).unref()
  }
}

const ignore = () => {}
