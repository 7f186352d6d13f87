/** Creates a queue of items by due time, the earliest first, and in the order of arrival for the same time. */
export function createDueQueue<Item>() {
  const entries: { readonly at: number; readonly item: Item }[] = []
  return {
    get nextAt(): number | undefined {
      return entries[0]?.at
    },
    /** Returns the due time of the first item that matches. Reads every item before it. */
    nextAtOf: (holds: (item: Item) => boolean): number | undefined => entries.find(({ item }) => holds(item))?.at,
    push(at: number, item: Item): void {
      let [from, to] = [0, entries.length]
      while (from < to) {
        const middle = (from + to) >> 1
        if ((entries[middle]?.at ?? 0) > at) to = middle
        else from = middle + 1
      }
      entries.splice(from, 0, { at, item })
    },
    /** Takes the first item if it is due by then. */
    takeDue(by: number): Item | undefined {
      const [first] = entries
      return first === undefined || first.at > by ? undefined : entries.shift()?.item
    },
    clear(): void {
      entries.length = 0
    },
  }
}
