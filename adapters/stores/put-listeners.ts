/** The workers of this process that wait for what is put into an inbox. */
export class PutListeners {
  readonly #listeners = new Set<() => void>()

  /** Calls back at each `wake`. Returns what ends that. */
  readonly onPut = (callback: () => void): (() => void) => {
    this.#listeners.add(callback)
    return () => this.#listeners.delete(callback)
  }

  wake(): void {
    for (const listener of this.#listeners) listener()
  }
}
