import type { Row } from '../../emulator/contract.ts'

/** Limit of finished rows; the emulator keeps as many deliveries. */
const MOST_ROWS = 10_000

/** A row of the list with its place in it. */
export interface PlacedRow extends Row {
  /** Position in the list. Newer rows have a higher one. */
  readonly order: number
  /** True if the emulator was restarted since, and no longer knows the delivery. */
  readonly isGone: boolean
}

/** The deliveries that the page knows, in the order of their creation. */
export class Rows {
  /** Grows with each change. */
  version = 0
  readonly #byId = new Map<string, PlacedRow>()
  /** Oldest first. A change replaces the row, and never changes it. */
  #sorted: PlacedRow[] = []
  #newest: readonly PlacedRow[] = []
  #newestVersion = 0
  /** Added to the numbers of the emulator's present run, so that its rows come after those of previous ones. */
  #base = 0

  /** Newest first. */
  get all(): readonly PlacedRow[] {
    if (this.#newestVersion !== this.version) this.#newest = this.#sorted.toReversed()
    this.#newestVersion = this.version
    return this.#newest
  }

  get size(): number {
    return this.#sorted.length
  }

  /** Order of the newest row. */
  get lastOrder(): number {
    return this.#sorted.at(-1)?.order ?? 0
  }

  find(id: string): PlacedRow | undefined {
    return this.#byId.get(id)
  }

  /** Makes a row of a delivery that the list does not have. */
  place(row: Row): PlacedRow {
    return { ...row, order: this.#base + row.made, isGone: false }
  }

  /** Stores new and changed rows, in any order. A row that is older than the known one changes nothing. */
  put(rows: readonly Row[]): void {
    for (const row of rows) {
      const known = this.#byId.get(row.id)
      if (known !== undefined && !known.isGone && known.change > row.change) continue
      const placed = this.place(row)
      if (known !== undefined && known.order !== placed.order) this.#sorted.splice(this.#indexOf(known.order), 1)
      const at = this.#indexOf(placed.order)
      this.#sorted.splice(at, this.#sorted[at]?.order === placed.order ? 1 : 0, placed)
      this.#byId.set(row.id, placed)
    }
    this.#dropOldest()
    this.version++
  }

  /**
   * Marks the rows that the emulator does not know after a restart, and removes those that it has dropped.
   *
   * @param change number of the last change that the list of known ids has
   */
  keepOnly(ids: ReadonlySet<string>, change: number, isNewRun: boolean): void {
    if (isNewRun) this.#base = this.lastOrder
    const isKnown = (row: PlacedRow) => !isNewRun && !row.isGone && (ids.has(row.id) || row.change > change)
    this.#sorted = this.#sorted.flatMap((row) => {
      if (isKnown(row)) return [row]
      if (isNewRun || row.isGone) return [row.isGone ? row : { ...row, isGone: true, nextAt: null }]
      return []
    })
    this.#byId.clear()
    for (const row of this.#sorted) this.#byId.set(row.id, row)
    this.version++
  }

  /** Position of the first row that is not older. */
  #indexOf(order: number): number {
    if (order > this.lastOrder) return this.#sorted.length
    let [low, high] = [0, this.#sorted.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#sorted[middle]?.order ?? 0) < order) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Drops the oldest finished rows, as the emulator does. */
  #dropOldest(): void {
    let over = this.#sorted.length - MOST_ROWS
    if (over <= 0) return
    this.#sorted = this.#sorted.filter((row) => {
      if (over <= 0 || (row.status === 'pending' && !row.isGone)) return true
      this.#byId.delete(row.id)
      over--
      return false
    })
  }
}
