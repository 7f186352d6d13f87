/** Limits how many callers run at the same time; the others wait in line. */
export class Slots {
  #free: number
  readonly #line = new Set<() => void>()

  constructor(count: number) {
    this.#free = count
  }

  /** @param signal removes the caller from the line */
  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#free > 0) {
      this.#free--
      return
    }
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        this.#line.delete(onTurn)
        reject(signal.reason)
      }
      const onTurn = () => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.#line.add(onTurn)
    })
  }

  /** Passes the slot to the first caller in line, if there is one. */
  give(): void {
    const [next] = this.#line
    if (next === undefined) this.#free++
    else {
      this.#line.delete(next)
      next()
    }
  }
}
