/** The workers of this process that wait for new items of an inbox. */
export class PutListeners {
  readonly #listeners = new Set<() => void>()

  /** Calls back at each `wake`. Returns a function that stops it. */
  readonly onPut = (callback: () => void): (() => void) => {
    this.#listeners.add(callback)
    return () => this.#listeners.delete(callback)
  }

  wake(): void {
    for (const listener of this.#listeners) listener()
  }
}
