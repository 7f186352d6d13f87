/** Queue of items by due time, the earliest first, and in the order of arrival for the same time. */
export class DueQueue<Item> {
  readonly #entries: { readonly at: number; readonly item: Item }[] = []

  get nextAt(): number | undefined {
    return this.#entries[0]?.at
  }

  /** Returns the due time of the first item that matches. Reads every item before it. */
  nextAtOf(holds: (item: Item) => boolean): number | undefined {
    return this.#entries.find(({ item }) => holds(item))?.at
  }

  push(at: number, item: Item): void {
    let [from, to] = [0, this.#entries.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((this.#entries[middle]?.at ?? 0) > at) to = middle
      else from = middle + 1
    }
    this.#entries.splice(from, 0, { at, item })
  }

  /** Takes the first item if it is due by then. */
  takeDue(by: number): Item | undefined {
    const [first] = this.#entries
    return first === undefined || first.at > by ? undefined : this.#entries.shift()?.item
  }

  clear(): void {
    this.#entries.length = 0
  }
}
