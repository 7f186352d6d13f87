const AGAIN_AFTER_MS = 500
const AT_ONCE = 100

interface LostClaim {
  readonly key: string
  readonly token: string
  /** When its lease has ended, had it been taken. */
  readonly endsAt: number
}

/**
 * Gives back claims whose answer was lost. The engine may have carried them out, and they would keep their events busy until their
 * leases end.
 */
export class LostClaims {
  readonly #giveBack: (key: string, token: string) => Promise<unknown>
  #lost: LostClaim[] = []
  #isWorking = false

  /** @param giveBack rejects if the engine cannot be reached; it is called again then */
  constructor(giveBack: (key: string, token: string) => Promise<unknown>) {
    this.#giveBack = giveBack
  }

  add(key: string, token: string, leaseMs: number): void {
    this.#lost.push({ key, token, endsAt: performance.now() + leaseMs })
    if (!this.#isWorking) void this.#work()
  }

  async #work(): Promise<void> {
    this.#isWorking = true
    while (this.#lost.length > 0) {
      const some = this.#lost.splice(0, AT_ONCE)
      const results = await Promise.allSettled(some.map(({ key, token }) => this.#giveBack(key, token)))
      const left = some.filter((_, at) => results[at]?.status === 'rejected')
      this.#lost.unshift(...left.filter(({ endsAt }) => endsAt > performance.now()))
      if (left.length > 0) await new Promise((resolve) => setTimeout(resolve, AGAIN_AFTER_MS).unref())
    }
    this.#isWorking = false
  }
}
