interface Entry<Item> {
  readonly at: number
  readonly item: Item
}

/** Queue of items by due time, the earliest first, and in the order of arrival for the same time. */
export class DueQueue<Item> {
  /** Sorted by time. Entries before the head have been taken. */
  #entries: Entry<Item>[] = []
  #head = 0

  get nextAt(): number | undefined {
    return this.#entries[this.#head]?.at
  }

  /** Returns the due time of the first item that matches. Reads every item before it. */
  nextAtOf(holds: (item: Item) => boolean): number | undefined {
    return this.#entries.find(({ item }, index) => index >= this.#head && holds(item))?.at
  }

  push(at: number, item: Item): void {
    let [from, to] = [this.#head, this.#entries.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((this.#entries[middle]?.at ?? 0) > at) to = middle
      else from = middle + 1
    }
    this.#entries.splice(from, 0, { at, item })
  }

  /** Takes the first item if it is due by then. */
  takeDue(by: number): Item | undefined {
    const first = this.#entries[this.#head]
    if (first === undefined || first.at > by) return undefined
    this.#head++
    if (this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head)
      this.#head = 0
    }
    return first.item
  }

  clear(): void {
    this.#entries = []
    this.#head = 0
  }
}
