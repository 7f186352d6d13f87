interface Entry<Item> {
  readonly at: number
  readonly order: number
  readonly item: Item
}

/** Queue of items by due time, the earliest first, and in the order of arrival for the same time. A binary heap. */
export class DueQueue<Item> {
  readonly #heap: Entry<Item>[] = []
  #count = 0

  /** Due time of the first item; undefined if the queue is empty. */
  get nextAt(): number | undefined {
    return this.#heap[0]?.at
  }

  /** Returns the due time of the first item that matches. Reads every item. */
  nextAtOf(holds: (item: Item) => boolean): number | undefined {
    return this.#heap.reduce<number | undefined>(
      (least, { at, item }) => (at < (least ?? Infinity) && holds(item) ? at : least),
      undefined,
    )
  }

  push(at: number, item: Item): void {
    const heap = this.#heap
    const entry = { at, order: this.#count++, item }
    let index = heap.push(entry) - 1
    while (index > 0) {
      const above = (index - 1) >> 1
      const parent = heap[above]
      if (parent === undefined || isBefore(parent, entry)) break
      heap[index] = parent
      index = above
    }
    heap[index] = entry
  }

  /** Takes the first item if it is due by then. */
  takeDue(by: number): Item | undefined {
    const first = this.#heap[0]
    if (first === undefined || first.at > by) return undefined
    const last = this.#heap.pop()
    if (last !== undefined && last !== first) this.#sink(last)
    return first.item
  }

  clear(): void {
    this.#heap.length = 0
  }

  #sink(entry: Entry<Item>): void {
    const heap = this.#heap
    let index = 0
    for (;;) {
      const [left, right] = [heap[2 * index + 1], heap[2 * index + 2]]
      const isRight = left !== undefined && right !== undefined && isBefore(right, left)
      const child = isRight ? right : left
      if (child === undefined || isBefore(entry, child)) break
      heap[index] = child
      index = 2 * index + (isRight ? 2 : 1)
    }
    heap[index] = entry
  }
}

function isBefore(a: Entry<unknown>, b: Entry<unknown>): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
