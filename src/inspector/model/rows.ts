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
  /** A change replaces the row, and never changes it. */
  #byId = new Map<string, PlacedRow>()
  #newest: readonly PlacedRow[] = []
  #newestVersion = 0
  /** Added to the numbers of the emulator's present run, so that its rows come after those of previous ones. */
  #base = 0

  /** Newest first. */
  get all(): readonly PlacedRow[] {
    // They are nearly in their order, and sorted by one look at each.
    if (this.#newestVersion !== this.version) this.#newest = [...this.#byId.values()].sort((a, b) => b.order - a.order)
    this.#newestVersion = this.version
    return this.#newest
  }

  get size(): number {
    return this.#byId.size
  }

  /** Order of the newest row. */
  get lastOrder(): number {
    return this.all[0]?.order ?? 0
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
      if (known === undefined || known.isGone || known.change <= row.change) this.#byId.set(row.id, this.place(row))
    }
    this.version++
    // Drops the oldest finished rows, as the emulator does.
    const isFinished = ({ status, isGone }: PlacedRow) => status !== 'pending' || isGone
    const over = this.size - MOST_ROWS
    if (over > 0) for (const { id } of this.all.filter(isFinished).slice(-over)) this.#byId.delete(id)
    this.version++
  }

  /**
   * Marks the rows that the emulator does not know after a restart, and removes those that it has dropped.
   *
   * @param change number of the last change that the list of known ids has
   */
  keepOnly(ids: ReadonlySet<string>, change: number, isNewRun: boolean): void {
    if (isNewRun) this.#base = this.lastOrder
    for (const row of this.#byId.values()) {
      if (row.isGone) continue
      if (isNewRun) this.#byId.set(row.id, { ...row, isGone: true, nextAt: null })
      else if (!ids.has(row.id) && row.change <= change) this.#byId.delete(row.id)
    }
    this.version++
  }
}
