import { type Claim, type Clock, STORE_LIMIT_MS, systemClock, unref } from '../../src/engine.ts'

const LOOK_EVERY_MS = 250
const AGAIN_AFTER_MS = 500
const MOST_AT_ONCE = 100

interface Asked {
  readonly key: string
  readonly token: string
  readonly leaseMs: number
  readonly askedAt: number
}

interface Open extends Asked {
  readonly reject: (error: unknown) => void
}

interface Lost extends Asked {
  /** When the claim's lease has ended. An answer that comes late starts the lease again. */
  readonly endsAt: number
  /** When the claim is released next; `Infinity` while that is under way. */
  nextAt: number
}

/** Releases claims whose answer was lost or late: the engine may have carried them out. */
export class LostClaims {
  readonly #giveBack: (key: string, token: string) => Promise<unknown>
  readonly #clock: Clock
  readonly #open = new Set<Open>()
  readonly #lost = new Set<Lost>()
  #underWay = 0
  #isLooking = false

  /** @param giveBack releases the key if the token holds it; rejects if the engine cannot be reached, and is then called again */
  constructor(giveBack: (key: string, token: string) => Promise<unknown>, clock: Clock = systemClock) {
    this.#giveBack = giveBack
    this.#clock = clock
  }

  /** Rejects if there is no answer in time. Every claim passes through here: no timer of its own. */
  watch(key: string, token: string, leaseMs: number, asking: Promise<Claim>): Promise<Claim> {
    return new Promise((resolve, reject) => {
      const open: Open = { key, token, leaseMs, askedAt: this.#clock.monotonic(), reject }
      this.#open.add(open)
      this.#look()
      asking.then(
        (claim) => {
          if (this.#open.delete(open)) resolve(claim)
          else if (claim.state === 'claimed') this.#lose(open) // it was released too early
        },
        (error: unknown) => {
          if (!this.#open.delete(open)) return
          this.#lose(open)
          reject(error)
        },
      )
    })
  }

  /** Releases a claim whose outcome is unknown. */
  add(key: string, token: string, leaseMs: number): void {
    const askedAt = this.#clock.monotonic()
    this.#lose({ key, token, leaseMs, askedAt })
  }

  #lose({ key, token, leaseMs, askedAt }: Asked): void {
    const endsAt = this.#clock.monotonic() + leaseMs
    this.#lost.add({ key, token, leaseMs, askedAt, endsAt, nextAt: askedAt })
    this.#work()
    this.#look()
  }

  #work(): void {
    const now = this.#clock.monotonic()
    for (const lost of this.#lost) {
      if (this.#underWay === MOST_AT_ONCE) return
      if (lost.nextAt <= now) void this.#release(lost)
    }
  }

  async #release(lost: Lost): Promise<void> {
    this.#underWay++
    lost.nextAt = Number.POSITIVE_INFINITY
    const limit = new Promise<boolean>((resolve) => this.#after(STORE_LIMIT_MS, () => resolve(false)))
    const releasing = this.#giveBack(lost.key, lost.token)
    const isTaken = await Promise.race([
      limit,
      releasing.then(
        () => true,
        () => false,
      ),
    ])
    this.#underWay--
    const now = this.#clock.monotonic()
    // The engine may process a claim after the release that was sent behind it.
    const heardAt = lost.askedAt + STORE_LIMIT_MS
    if (now >= lost.endsAt || (isTaken && now >= heardAt)) this.#lost.delete(lost)
    lost.nextAt = isTaken ? heardAt : now + AGAIN_AFTER_MS
  }

  /** Checks open and lost claims periodically: a timer for each claim would cost more than everything else here. */
  #look(): void {
    if (this.#isLooking) return
    this.#isLooking = true
    this.#after(LOOK_EVERY_MS, () => {
      this.#isLooking = false
      const longAgo = this.#clock.monotonic() - STORE_LIMIT_MS
      for (const open of this.#open) {
        if (open.askedAt > longAgo) break
        this.#open.delete(open)
        this.#lose(open)
        open.reject(new Error(`no answer within ${STORE_LIMIT_MS} ms`))
      }
      this.#work()
      if (this.#open.size + this.#lost.size > 0) this.#look()
    })
  }

  /** Does not keep the process alive. */
  #after(ms: number, callback: () => void): void {
    unref(this.#clock.setTimeout(callback, ms))
  }
}
