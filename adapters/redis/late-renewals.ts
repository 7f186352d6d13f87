/**
 * Renewals that a server may come to after it released the claim, over another connection: it takes them for claims that are free.
 */
export class LateRenewals {
  /** By claim: how many renewals have no answer, and whether it was released meanwhile. */
  readonly #open = new Map<string, { count: number; isReleased: boolean }>()

  /** @param onRevived is called if the renewal has brought a released claim back to life */
  async watch(key: string, token: string, renewing: Promise<boolean>, onRevived: () => void): Promise<boolean> {
    const claim = `${token} ${key}`
    const open = this.#open.get(claim) ?? { count: 0, isReleased: false }
    open.count++
    this.#open.set(claim, open)
    try {
      const isHeld = await renewing
      if (isHeld && open.isReleased) onRevived()
      return isHeld
    } finally {
      if (--open.count === 0) this.#open.delete(claim)
    }
  }

  onReleased(key: string, token: string): void {
    const open = this.#open.get(`${token} ${key}`)
    if (open !== undefined) open.isReleased = true
  }
}
